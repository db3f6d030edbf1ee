#include "cli/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/test_catalogue.h"
#include "store/temporary_folder.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* lengths =
    "experiment: lengths\nworkload: attention\n"
    "matrix: {seq_len: [64, 128], attention: [naive, flash]}\n"
    "measure: {passes: [forward], samples: 3}\n";

class Resume : public store::testing::TemporaryFolder {
 protected:
  Resume() {
    context_.installation.data = ASSAY_SOURCE_DIR;
    context_.catalogue = *config::test_environment().catalogue;
    experiment_ = write("lengths.yaml", lengths).string();
  }

  // Stores lengths-1 as begun with these overrides.
  void begin(const std::vector<std::string>& overrides) {
    store::RunInfo info;
    info.name = "lengths-1";
    info.experiment = "lengths";
    info.started = "2026-01-31T12:00:00Z";
    info.first.experiment_text = lengths;
    info.first.experiment_file = experiment_;
    info.first.overrides = overrides;
    auto database = store::Database::open(file("assay.db"), store::Access::read_write);
    EXPECT_TRUE(database->begin_run(info));
  }

  // What `assay run` with these arguments is to measure.
  Result<RunInvocation> ask(std::vector<std::string> arguments) {
    Usage usage{"run", "", "", "", po::options_description("Options"), {}};
    add_experiment_options(usage.options);
    add_results_option(usage.options);
    add_resume_options(usage.options);
    usage.options.add_options()("only", po::value<std::vector<std::string>>(), "");
    arguments.insert(arguments.end(), {"--results", file("").string()});
    const auto values = parse(usage, arguments);
    if (!values) return tl::unexpected(values.error());
    const bool of_run = arguments.front() == "--resume";
    return of_run ? invocation_of_run(context_, **values)
                  : invocation_of_file(context_, **values, experiment_);
  }

  Context context_;
  std::string experiment_;
};

TEST_F(Resume, OfAFileTakesTheOverridesOfTheRun) {
  begin({"--set seq_len=[256, 512, 1024]", "--filter attention == flash"});
  const auto invocation = ask({"--retry", "oom"});
  ASSERT_TRUE(invocation) << invocation.error().text();
  EXPECT_EQ(invocation->plan.size(), 3u);
  EXPECT_EQ(to_text(invocation->plan.get(2, "seq_len")), "1024");
  EXPECT_EQ(invocation->overrides, (std::vector<std::string>{"--set seq_len=[256, 512, 1024]",
                                                             "--filter attention == flash"}));
}

TEST_F(Resume, RecordsTheSameSettingsOnce) {
  begin({"--set measure.samples=7"});
  const auto invocation = ask({"--rerun", "--set", "measure.samples=7"});
  ASSERT_TRUE(invocation) << invocation.error().text();
  EXPECT_EQ(invocation->overrides, (std::vector<std::string>{"--set measure.samples=7"}));
}

TEST_F(Resume, ShowsAndRefusesCasesOfOtherSettings) {
  begin({"--set measure.samples=7"});
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--rerun", "--set", "measure.samples=5"},
        {"--resume", "lengths-1", "--set", "measure.samples=5"}}) {
    const auto invocation = ask(arguments);
    ASSERT_FALSE(invocation);
    EXPECT_EQ(invocation.error().exit_code, ExitCode::bad_input);
    EXPECT_THAT(invocation.error().text(), HasSubstr("measure.samples is 7 in the run and 5 now"));
    EXPECT_THAT(invocation.error().text(), HasSubstr("--changed"));
  }
}

TEST_F(Resume, RefusesAFileThatHasGrown) {
  begin({});
  std::string longer = lengths;
  longer.replace(longer.find("[64, 128]"), 9, "[64, 128, 4096]");
  write("lengths.yaml", longer);
  const auto invocation = ask({"--rerun"});
  ASSERT_FALSE(invocation);
  EXPECT_THAT(invocation.error().text(), HasSubstr("seq_len is 128, 64 in the run and 4096 now"));
}

TEST_F(Resume, LeavesOutCasesAndAddsPassesAsAsked) {
  begin({"--set seq_len=[64, 128, 256]", "--filter attention == naive"});
  const auto fewer = ask({"--rerun", "--set", "seq_len=64", "--filter", "attention == flash"});
  ASSERT_TRUE(fewer) << fewer.error().text();
  EXPECT_EQ(fewer->plan.size(), 1u) << "the given filter stands for the run's own";
  const auto passes = ask({"--rerun", "--set", "measure.passes=[forward, backward]"});
  ASSERT_TRUE(passes) << passes.error().text();
  EXPECT_EQ(passes->plan.size(), 3u);
  EXPECT_EQ(passes->experiment.passes.size(), 2u);
}

TEST_F(Resume, MayIgnoreWhatOnlyTheReportSays) {
  begin({});
  write("lengths.yaml", std::string(lengths) + "title: Another title\n# and a comment\n");
  EXPECT_TRUE(ask({"--rerun"}));
}

TEST_F(Resume, WithChangedTakesEverythingAsItIsNow) {
  begin({"--set measure.samples=7", "--filter attention == naive"});
  const auto invocation = ask({"--rerun", "--changed", "--set", "measure.samples=5"});
  ASSERT_TRUE(invocation) << invocation.error().text();
  EXPECT_EQ(invocation->plan.size(), 4u);
  EXPECT_EQ(to_text(invocation->plan.get(0, "measure.samples")), "5");
}

}  // namespace
}  // namespace assay::cli
