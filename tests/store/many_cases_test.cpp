#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sample_run.h"
#include "store/database/database.h"
#include "temporary_folder.h"

// So many cases that several threads read them.
namespace assay::store {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t count = 5000;

class StoreManyCases : public testing::TemporaryFolder {
 protected:
  void SetUp() override {
    run_ = testing::sample_run();
    run_.cases.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      CaseResult result = testing::sample_case(0);
      result.ordinal = i;
      result.parameters["seq_len"] = i;
      if (i % 1000 == 1) result.parameters["dropout"] = std::numeric_limits<double>::infinity();
      set_key(result);
      result.facts.marks = {{"busy", "forward", "other programs used " + std::to_string(i)}};
      result.series[0].samples = {static_cast<double>(i)};
      run_.cases.push_back(std::move(result));
    }
    auto database = Database::open(file("assay.db"), Access::read_write).value();
    ASSERT_TRUE(database.add_run(run_));
  }

  Result<Run> load() {
    return Database::open(file("assay.db"), Access::read_only).value().load_run(run_.info.name);
  }

  Run run_;
};

TEST_F(StoreManyCases, ComeBackAsTheyWereRecorded) {
  const Run back = load().value();
  ASSERT_EQ(back.cases.size(), run_.cases.size());
  for (std::size_t i = 0; i < back.cases.size(); ++i) {
    ASSERT_EQ(testing::text_of(back.cases[i]), testing::text_of(run_.cases[i]));
  }
}

TEST_F(StoreManyCases, OneThatNobodyWroteIsAnError) {
  SQLite::Database(file("assay.db"), SQLite::OPEN_READWRITE)
      .exec("UPDATE cases SET context = '{' WHERE ordinal = 4321");
  const auto run = load();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().exit_code, ExitCode::results_unreadable);
  EXPECT_THAT(run.error().text(), HasSubstr("'context' is not JSON"));
}

}  // namespace
}  // namespace assay::store
