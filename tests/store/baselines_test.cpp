#include "store/database/baselines.h"

#include <gmock/gmock.h>

#include "store/temporary_folder.h"

namespace assay::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class Baselines : public testing::TemporaryFolder {
 protected:
  Baselines() {
    database_.emplace(std::move(*Database::open(file("assay.db"), Access::read_write)));
  }

  void add(const std::string& name, const std::string& baseline, bool finished = true) {
    RunInfo info;
    info.name = name;
    info.experiment = "toy";
    info.started = "2026-01-31T12:00:00Z";
    if (!baseline.empty()) info.first.provenance[baseline_member] = baseline;
    ASSERT_TRUE(database_->begin_run(info));
    if (finished) {
      ASSERT_TRUE(database_->finish_run(name, "2026-01-31T12:01:00Z"));
    }
  }

  std::optional<Database> database_;
};

TEST_F(Baselines, AreTheNewestFinishedRunsThatWereKept) {
  add("toy-1", "main");
  add("toy-2", "other");
  add("toy-3", "main");
  add("toy-4", "main", /*finished=*/false);
  add("toy-5", "");
  EXPECT_THAT(*baselines(*database_), ElementsAre(Pair("main", "toy-3"), Pair("other", "toy-2")));
  EXPECT_EQ(*baseline_run(*database_, "main"), "toy-3");
}

TEST_F(Baselines, OfAnUnknownNameOffersTheNearest) {
  add("toy-1", "main");
  const auto run = baseline_run(*database_, "mian");
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().exit_code, ExitCode::bad_input);
  EXPECT_THAT(run.error().text(), HasSubstr("did you mean 'main'?"));
}

}  // namespace
}  // namespace assay::store
