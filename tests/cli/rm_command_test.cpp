#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands/commands.h"
#include "store/database/baselines.h"
#include "store/temporary_folder.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;

class RmCommand : public store::testing::TemporaryFolder {
 protected:
  RmCommand() {
    store::RunInfo info;
    info.experiment = "toy";
    info.started = "2026-01-31T12:00:00Z";
    for (const char* name : {"toy-1", "toy-2"}) {
      info.name = name;
      info.first.provenance = {{store::baseline_member, "main"}};
      EXPECT_TRUE(open()->begin_run(info));
      EXPECT_TRUE(open()->finish_run(name, "2026-01-31T12:01:00Z"));
    }
  }

  Result<store::Database> open() {
    return store::Database::open(file("assay.db"), store::Access::read_write);
  }

  Result<ExitCode> rm(std::vector<std::string> words) {
    words.insert(words.end(), {"--results", file("").string()});
    ::testing::internal::CaptureStdout();
    const auto done = rm_command(words);
    std::fflush(stdout);
    ::testing::internal::GetCapturedStdout();
    return done;
  }
};

TEST_F(RmCommand, LeavesABaselineAloneUnlessAsked) {
  const auto refused = rm({"toy-2"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("toy-2 is kept as the baseline 'main'"));
  EXPECT_TRUE(open()->run_info("toy-2"));
  EXPECT_TRUE(rm({"toy-1"})) << "a later run has taken its place";
  EXPECT_TRUE(rm({"toy-2", "--baseline"}));
  EXPECT_FALSE(open()->run_info("toy-2"));
}

TEST_F(RmCommand, LeavesARunAloneThatIsBeingMeasured) {
  auto database = open();
  const auto claim = database->claim_run("toy-1");
  ASSERT_TRUE(claim);
  const auto refused = rm({"toy-1"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code, ExitCode::bad_input);
  EXPECT_TRUE(open()->run_info("toy-1"));
}

}  // namespace
}  // namespace assay::cli
