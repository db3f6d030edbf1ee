#include "compare/sides.h"

#include <gtest/gtest.h>

#include <fstream>

#include "store/exchange/export.h"
#include "store/exchange/import.h"
#include "store/temporary_folder.h"

namespace assay::compare {
namespace {

class Sides : public store::testing::TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    auto database = store::Database::open(file("assay.db"), store::Access::read_write);
    ASSERT_TRUE(database);
    add(*database, "first", "lab1", "aaaaaaaaaa", {"builda000", "buildb000"});
    add(*database, "second", "lab2", "aaaaaaabbb", {"builda000", "builda000"});
    add(*database, "third", "lab1", "cccccccccc", {"buildc000", "buildc000"});
  }

  void add(store::Database& database, const std::string& name, const std::string& host,
           const std::string& commit, const std::vector<std::string>& builds) {
    auto run = store::import_text("a,pass,time.samples [s]\n1,step,[1]\n2,step,[2]\n", "x.csv");
    ASSERT_TRUE(run);
    run->info.name = name;
    run->info.started = "2026-01-0" + std::to_string(++day_) + "T00:00:00Z";
    run->info.first.machine = {{"host", host}};
    run->info.first.provenance = {{"source", {{"commit", commit}, {"clean", true}}}};
    for (std::size_t i = 0; i < builds.size(); ++i) run->cases[i].build = builds[i];
    ASSERT_TRUE(database.add_run(*run));
  }

  // "name:cases …", or the error.
  std::string read(const std::string& text) {
    const auto side = read_side(
        text, [&] { return store::Database::open(file("assay.db"), store::Access::read_only); });
    if (!side) return side.error().text();
    std::string found;
    for (const store::Run& run : side->runs) {
      found += (found.empty() ? "" : " ") + run.info.name + ":" + std::to_string(run.cases.size());
    }
    return found;
  }

 private:
  int day_ = 0;
};

TEST_F(Sides, AreRunsByName) {
  EXPECT_EQ(read("second"), "second:2");
  EXPECT_EQ(read("third, first,third"), "third:2 first:2");
  EXPECT_EQ(read("latest"), "third:2");
}

TEST_F(Sides, AreRunsByCommitAndMachineFromTheOldestOn) {
  EXPECT_EQ(read("commit:aaaaaaa"), "first:2 second:2");
  EXPECT_EQ(read("commit:aaaaaaab"), "second:2");
  EXPECT_EQ(read("machine:lab1"), "first:2 third:2");
  EXPECT_EQ(read("second,machine:lab1"), "second:2 first:2 third:2");
}

// The second case was measured later, at another commit and on another machine.
TEST_F(Sides, AreThoseCasesOfAResumedRunThatWereMeasuredThere) {
  auto database = store::Database::open(file("assay.db"), store::Access::read_write);
  ASSERT_TRUE(database);
  auto run = store::import_text("a,pass,time.samples [s]\n1,step,[1]\n2,step,[2]\n", "x.csv");
  ASSERT_TRUE(run);
  run->info.name = "resumed";
  run->info.started = "2026-02-01T00:00:00Z";
  run->info.first.machine = {{"host", "lab7"}};
  run->info.first.provenance = {{"source", {{"commit", "7777777777"}}}};
  run->info.sessions.resize(1);
  run->info.sessions[0].machine = {{"host", "lab8"}};
  run->info.sessions[0].provenance = {{"source", {{"commit", "8888888888"}}}};
  run->cases[1].session = 1;
  ASSERT_TRUE(database->add_run(*run));
  EXPECT_EQ(read("commit:7777777"), "resumed:1");
  EXPECT_EQ(read("commit:8888888"), "resumed:1");
  EXPECT_EQ(read("machine:lab8"), "resumed:1");
  EXPECT_EQ(read("machine:lab7,machine:lab8"), "resumed:2");
}

TEST_F(Sides, CountARunOnceHoweverItIsNamed) {
  auto database = store::Database::open(file("assay.db"), store::Access::read_only);
  ASSERT_TRUE(database);
  auto run = database->load_run("first");
  ASSERT_TRUE(run);
  std::ofstream stream(file("first.jsonl"));
  ASSERT_TRUE(store::export_json_lines(*run, stream));
  stream.close();
  const std::string exported = file("first.jsonl").string();
  EXPECT_EQ(read(exported + "," + exported), "first:2");
  EXPECT_EQ(read("build:builda0,first,machine:lab1," + exported), "first:2 second:2 third:2");
}

TEST_F(Sides, AreCasesByBuild) {
  EXPECT_EQ(read("build:builda0"), "first:1 second:2");
  EXPECT_EQ(read("build:builda0,build:buildb0"), "first:2 second:2");
}

TEST_F(Sides, AreFilesWithoutADatabase) {
  std::ofstream(file("x.csv")) << "a,pass,time.samples [s]\n1,step,[1]\n";
  const auto none = []() -> Result<store::Database> {
    ADD_FAILURE() << "the database was opened";
    return fail(ExitCode::results_unreadable, "none");
  };
  const auto side = read_side(file("x.csv").string(), none);
  ASSERT_TRUE(side) << side.error().text();
  EXPECT_EQ(side->runs.size(), 1u);
}

TEST_F(Sides, SayWhatIsWrong) {
  EXPECT_NE(read("secnd").find("did you mean 'second'?"), std::string::npos);
  EXPECT_NE(read("first,,third").find("an empty name between commas"), std::string::npos);
  EXPECT_NE(read("commit:aaa").find("too short"), std::string::npos);
  EXPECT_NE(read("machine:lab9").find("no stored run matches 'machine:lab9'"), std::string::npos);
  EXPECT_NE(read("build:fffffff").find("no stored run matches"), std::string::npos);
}

}  // namespace
}  // namespace assay::compare
