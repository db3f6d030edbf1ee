#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
  int told[2], over[2];  // a process does not exclude itself: another one measures the run
  ASSERT_EQ(::pipe(told), 0);
  ASSERT_EQ(::pipe(over), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    ::close(over[1]);
    auto database = open();
    const auto claim = database->claim_run("toy-1");
    char byte = claim ? 'y' : 'n';
    const bool said = ::write(told[1], &byte, 1) == 1;
    ::_exit(said && ::read(over[0], &byte, 1) == 0 ? 0 : 1);
  }
  char claimed = 'n';
  ASSERT_EQ(::read(told[0], &claimed, 1), 1);
  ASSERT_EQ(claimed, 'y');
  const auto refused = rm({"toy-1"});
  ::close(over[1]);
  int status = 1;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code, ExitCode::bad_input);
  EXPECT_TRUE(open()->run_info("toy-1"));
}

}  // namespace
}  // namespace assay::cli
