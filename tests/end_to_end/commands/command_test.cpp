// Commands that show something without running a case.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class HelpTest : public ::testing::TestWithParam<const char*> {};

TEST_P(HelpTest, HasAnExampleOfItself) {
  const Folder folder;
  const Ended ended = assay(folder.path(), {GetParam(), "--help"});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr(std::string("assay ") + GetParam()));
  EXPECT_THAT(ended.output, HasSubstr(std::string("\nExample:\n  assay ") + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Commands, HelpTest,
                         ::testing::Values("run", "plan", "report", "compare", "calibrate", "list",
                                           "show", "new", "check", "schema", "doctor", "export",
                                           "import", "rm", "worker", "bench", "completion"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(HelpTest, OfTheProgramNamesEveryCommand) {
  const Folder folder;
  const Ended ended = assay(folder.path(), {"--help"});
  EXPECT_EQ(ended.exit_code, 0);
  for (const char* command :
       {"run", "plan", "report", "compare", "calibrate", "list", "show", "new", "check", "schema",
        "doctor", "export", "import", "rm", "worker", "bench", "completion"}) {
    EXPECT_THAT(ended.output, HasSubstr(std::string("\n  ") + command + " "));
  }
}

TEST(ListAndShow, TakeEverythingThatShips) {
  const Folder folder;
  EXPECT_THAT(assay(folder.path(), {"list", "layouts"}).output, HasSubstr("\nmodel_totals\n"));
  EXPECT_THAT(assay(folder.path(), {"list", "experiments"}).output, HasSubstr("quickstart\n"));
  const Ended experiment = assay(folder.path(), {"show", "experiment/quickstart"});
  EXPECT_EQ(experiment.exit_code, 0) << experiment.errors;
  EXPECT_THAT(experiment.output, HasSubstr("experiment: quickstart\n"));
  EXPECT_THAT(assay(folder.path(), {"show", "layout/model_totals"}).output, HasSubstr("table"));
  EXPECT_THAT(assay(folder.path(), {"show", "model/small"}).output, HasSubstr("d_model"));
  EXPECT_THAT(assay(folder.path(), {"show", "layout/model_totls"}).errors,
              HasSubstr("there is no layout 'model_totls'; did you mean 'model_totals'?"));
}

TEST(Version, IsOneLineWithTheCommit) {
  const Folder folder;
  const Ended ended = assay(folder.path(), {"--version"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.output, ::testing::MatchesRegex("assay [0-9]+\\.[0-9]+\\.[0-9]+[^\n]*\n"));
}

TEST(Hints, NameTheProgramAsItWasCalled) {
  const Folder folder;
  std::filesystem::create_directory_symlink(ASSAY_BUILD_DIR "/bin", folder.path() / "here");
  const Ended beside = program(folder.path(), {"here/assay", "show"});
  EXPECT_THAT(beside.errors, HasSubstr("`here/assay list` lists it"));
  const Ended on_path =
      program(folder.path(), {"sh", "-c", "PATH=" ASSAY_BUILD_DIR "/bin:$PATH; assay show"});
  EXPECT_THAT(on_path.errors, HasSubstr("`assay list` lists it"));
}

TEST(Schema, IsTheOneThatEditorsAreGiven) {
  const Folder folder;
  const Ended ended = assay(folder.path(), {"schema"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  std::ostringstream kept;
  kept << std::ifstream(ASSAY_SOURCE_DIR "/configs/experiment.schema.json").rdbuf();
  EXPECT_TRUE(ended.output == kept.str())
      << "`assay schema --output configs/experiment.schema.json` makes it anew";
}

TEST(Plan, EstimatesEveryCaseAndSaysWhatWouldBeSkipped) {
  const Folder folder;
  const std::string file =
      folder.write("planned.yaml",
                   "experiment: planned\nworkload: attention\n"
                   "matrix: {seq_len: [64, 128], backend: [none, nccl]}\n"
                   "fixed: {attention: naive, batch: 1, heads: 1, d_head: 16, device: cpu}\n");
  const Ended ended = assay(folder.path(), {"plan", file});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, ContainsRegex("     1 +[0-9.]+ [KMG]iB  seq_len=64 backend=none\n"));
  EXPECT_THAT(ended.output, HasSubstr("seq_len=128 backend=nccl  [skipped: NCCL needs GPUs]\n"));
  EXPECT_THAT(ended.output, HasSubstr("4 cases of "));
  EXPECT_THAT(ended.output, HasSubstr("; 2 would be skipped here, 0 may not fit\n"));
}

TEST(Plan, EstimatesTheTimeFromEarlierRunsOfTheSameCases) {
  const Folder folder;
  const auto text = [](const char* lengths) {
    return "experiment: timed\nworkload: attention\nmatrix: {seq_len: [" + std::string(lengths) +
           "]}\nfixed: {attention: naive, batch: 1, heads: 1, d_head: 16, device: cpu}\n"
           "measure: {passes: [forward], warmup: 1, samples: 2}\n";
  };
  const std::string file = folder.write("timed.yaml", text("8, 16"));
  EXPECT_THAT(assay(folder.path(), {"plan", file}).output,
              HasSubstr("estimated time: unknown, no earlier run measured any of 2 cases\n"));
  ASSERT_EQ(assay(folder.path(), {"run", file}).exit_code, 0);
  folder.write("timed.yaml", text("8, 16, 32"));
  EXPECT_THAT(assay(folder.path(), {"plan", file}).output,
              ContainsRegex("estimated time: [^\n]+ for 2 cases that earlier runs measured; 1 case "
                            "is unknown\n"));
}

TEST(Plan, SaysWhichVariantsAndClocksNeedAGpu) {
  const Folder folder;
  const std::string file = folder.write(
      "elsewhere.yaml",
      "experiment: elsewhere\nworkload: attention\n"
      "matrix: {attention: [naive, cudnn_libtorch], precision: [fp32, tf32], measure.clock: [wall, "
      "cuda_event]}\n"
      "fixed: {seq_len: 16, batch: 1, heads: 1, d_head: 16, device: cpu}\n");
  const Ended ended = assay(folder.path(), {"plan", file});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("=naive precision=fp32 measure.clock=wall\n"));
  EXPECT_THAT(
      ended.output,
      HasSubstr("=naive precision=tf32 measure.clock=wall  [skipped: precision tf32 runs on "
                "cuda only, this case is on cpu]\n"));
  EXPECT_THAT(ended.output, HasSubstr("[skipped: attention cudnn_libtorch runs on cuda only, "));
  EXPECT_THAT(ended.output, HasSubstr("[skipped: the clock cuda_event measures on cuda only, "));
  EXPECT_THAT(ended.output, HasSubstr("; 7 would be skipped here, "));
}

TEST(Plan, SaysWhatACaseNeedsWhereItMayNotFit) {
  const Folder folder;
  const std::string file =
      folder.write("large.yaml",
                   "experiment: large\nworkload: attention\nmatrix: {seq_len: [1048576]}\n"
                   "fixed: {attention: naive, batch: 65536, heads: 8, d_head: 16, device: cpu}\n");
  const Ended ended = assay(folder.path(), {"plan", file});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output,
              ContainsRegex("may not fit: it needs [0-9.]+ [KMGTPE]iB, this machine has [0-9.]+ "
                            "[KMGT]iB\\]"));
}

TEST(Show, OffersTheNearestKind) {
  const Folder folder;
  const Ended ended = assay(folder.path(), {"show", "atention/naive"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("unknown kind 'atention'; did you mean 'attention'?"));
  const Ended far = assay(folder.path(), {"show", "kernels/naive"});
  EXPECT_THAT(far.errors, HasSubstr("unknown kind 'kernels'; known: "));
  const Ended run = assay(folder.path(), {"show", "quickstart-1/3"});
  EXPECT_THAT(run.errors, Not(HasSubstr("unknown kind")));
}

TEST(Show, OfABareNameSaysWhereItStands) {
  const Folder folder;
  const auto errors = [&](const char* name) { return assay(folder.path(), {"show", name}).errors; };
  EXPECT_THAT(
      errors("quickstart"),
      ContainsRegex(
          "there is no run 'quickstart'; `[^`]*assay show experiment/quickstart` shows it"));
  EXPECT_THAT(errors("model_totals"), HasSubstr("assay show layout/model_totals` shows it"));
  EXPECT_THAT(errors("small"), HasSubstr("assay show model/small` shows it"));
  EXPECT_THAT(errors("flash"), HasSubstr("assay show attention/flash` shows it"));
  EXPECT_THAT(errors("nothing_like_it"), Not(HasSubstr("shows it")));
  // Beside runs.
  folder.write("toy.csv", "attention,pass,time.mean [ms]\nnaive,forward,1\n");
  ASSERT_EQ(assay(folder.path(), {"import", "toy.csv"}).exit_code, 0);
  EXPECT_THAT(errors("quickstart"), HasSubstr("assay show experiment/quickstart` shows it"));
}

constexpr const char* with_an_external =
    "experiment: peers\nworkload: model_step\nmatrix: {compile: [eager, torch_eager]}\n"
    "fixed: {model: toy, batch: 1, seq_len: 8, device: cpu}\nmeasure: {passes: [inference]}\n";

TEST(Plan, SaysWhatWouldBeSkippedForWantOfLeave) {
  const Folder folder;
  const std::string file = folder.write("peers.yaml", with_an_external);
  const Ended without = assay(folder.path(), {"plan", file});
  ASSERT_EQ(without.exit_code, 0) << without.errors;
  EXPECT_THAT(without.output, HasSubstr("compile=eager\n"));
  EXPECT_THAT(without.output,
              HasSubstr("compile=torch_eager  [skipped: torch_eager runs a program of its own ("));
  EXPECT_THAT(without.output, HasSubstr("allow it with --allow-external"));
  EXPECT_THAT(without.output, HasSubstr("1 would be skipped here"));
  const Ended allowed = assay(folder.path(), {"plan", file, "--allow-external"});
  ASSERT_EQ(allowed.exit_code, 0) << allowed.errors;
  EXPECT_THAT(allowed.output, Not(HasSubstr("skipped:")));
  EXPECT_THAT(allowed.output, HasSubstr("0 would be skipped here"));
}

// As shells of some clusters give it.
TEST(ASmallStack, IsEnoughForEveryCommandOfARun) {
  const Folder folder;
  folder.write("e.yaml",
               "experiment: small\nworkload: norm\nmatrix: {n_cols: [64, 128]}\n"
               "fixed: {device: cpu, rows: 32}\n"
               "measure: {passes: [forward, backward], warmup: 1, samples: 2}\n"
               "report: [{findings: [scaling, failures]}]\n");
  for (const char* command : {"run e.yaml", "report latest", "list", "show workload/model_step",
                              "plan e.yaml --filter 'sqrt((n_cols + 1) * 2) > 1'",
                              "export latest --output results.jsonl"}) {
    const std::string words =
        std::string("ulimit -s 64; exec " ASSAY_BUILD_DIR "/bin/assay ") + command;
    const Ended ended = program(folder.path(), {"sh", "-c", words});
    EXPECT_EQ(ended.exit_code, 0) << command << ": " << ended.errors;
  }
}

}  // namespace
}  // namespace assay::test
