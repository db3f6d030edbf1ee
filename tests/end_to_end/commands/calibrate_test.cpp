// Calibrating a machine's peaks, and reports that show shares of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// All four calibrations, small and on the CPU.
const std::vector<std::string> small = {"--device", "cpu",
                                        "--set",    "size=[1 MiB, 2 MiB]",
                                        "--set",    "m=[64, 128]",
                                        "--set",    "launches=[1, 100]",
                                        "--set",    "measure.samples=3",
                                        "--filter", "dtype == fp32 || dtype == fp64"};

std::vector<std::string> calibrate(std::vector<std::string> things,
                                   const std::vector<std::string>& options = small) {
  std::vector<std::string> words = {"calibrate"};
  words.insert(words.end(), things.begin(), things.end());
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

const std::vector<std::string> small_copies = {"--device",     "cpu",   "--set",
                                               "size=[1 MiB]", "--set", "measure.samples=3"};
const std::vector<std::string> small_products = {
    "--device", "cpu", "--set", "m=[64]", "--set", "dtype=[fp32]", "--set", "measure.samples=3"};

constexpr const char* attention =
    "experiment: attention\nworkload: attention\n"
    "matrix: {attention: [naive], precision: [fp32, bf16]}\n"
    "fixed: {batch: 1, heads: 2, seq_len: 64, d_head: 32, device: cpu}\n"
    "measure: {passes: [forward], warmup: 1, samples: 3}\n"
    "report:\n- table:\n    rows: [precision]\n    columns:\n"
    "      achieved: {rate: flops, unit: GFLOP/s}\n"
    "      share: {rate: flops, share_of: auto, unit: \"%\"}\n"
    "      of copy: {rate: bytes, share_of: copy, unit: \"%\"}\n";

TEST(CalibrateTest, MeasuresEveryCeilingAndPrintsThem) {
  const Folder folder;
  const Ended ended = assay(folder.path(), calibrate({}));
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, ContainsRegex("copy +cpu +[0-9.]+ [MGT]B/s +bytes / median time, best "
                                          "of 2: size [12]\\.00 MiB(; measured while [a-z, ]+)? +"
                                          "calibrate_copy-1"));
  EXPECT_THAT(ended.output, ContainsRegex("matmul_fp64 +cpu +[0-9.]+ [GT]?FLOP/s"));
  EXPECT_THAT(ended.output, ContainsRegex("matmul_fp32 +cpu +[0-9.]+ [GT]?FLOP/s"));
  EXPECT_THAT(ended.output, Not(HasSubstr("matmul_bf16")));
  EXPECT_THAT(ended.output, ContainsRegex("launch_libtorch +cpu +[0-9.]+ [num]s"));
  EXPECT_THAT(ended.output, ContainsRegex("all_reduce, 2 ranks, gloo +cpu +[0-9.]+ [MGT]?B/s"));
  EXPECT_THAT(ended.output, ContainsRegex("broadcast, 2 ranks, gloo"));
  EXPECT_THAT(folder.read("results/calibrate_copy-1/report.md"), HasSubstr("bandwidth [GB/s]"));

  const Ended shown = assay(folder.path(), {"calibrate", "--show"});
  EXPECT_EQ(shown.exit_code, 0) << shown.errors;
  EXPECT_THAT(ended.output, HasSubstr(shown.output));
}

TEST(CalibrateTest, ReportsShowSharesOfTheNewestCalibration) {
  const Folder folder;
  const std::string file = folder.write("attention.yaml", attention);
  const Ended before = assay(folder.path(), {"run", file});
  ASSERT_EQ(before.exit_code, 0) << before.errors;
  EXPECT_THAT(folder.read("results/attention-1/report.md"),
              HasSubstr("no calibration of this machine is known"));

  ASSERT_EQ(assay(folder.path(), calibrate({"matmul"}, small_products)).exit_code, 0);
  ASSERT_EQ(assay(folder.path(), calibrate({"copy"}, small_copies)).exit_code, 0);
  ASSERT_EQ(assay(folder.path(), calibrate({"copy"}, small_copies)).exit_code, 0);
  const Ended after = assay(folder.path(), {"report", "attention-1"});
  ASSERT_EQ(after.exit_code, 0) << after.errors;
  const std::string report = folder.read("results/attention-1/report.md");
  EXPECT_THAT(report, HasSubstr("matmul_fp32 of calibrate_matmul-1"));
  EXPECT_THAT(report, HasSubstr("copy of calibrate_copy-2"));
  EXPECT_THAT(report, HasSubstr("**N/A** (1 cell: precision bf16): no calibration of this machine "
                                "has measured matmul_bf16 on cpu"));

  const Ended named = assay(folder.path(), {"report", "attention-1", "--ceilings",
                                            "calibrate_copy-1", "--output", "named.md"});
  ASSERT_EQ(named.exit_code, 0) << named.errors;
  EXPECT_THAT(folder.read("named.md"), HasSubstr("copy of calibrate_copy-1"));
}

TEST(CalibrateTest, ACalibrationCanComeFromAFile) {
  const Folder there;
  ASSERT_EQ(assay(there.path(), calibrate({"copy"}, small_copies)).exit_code, 0);
  ASSERT_EQ(assay(there.path(), {"export", "latest", "--output", "there.jsonl"}).exit_code, 0);
  const Folder here;
  const std::string file = here.write("attention.yaml", attention);
  ASSERT_EQ(assay(here.path(), {"run", file}).exit_code, 0);
  const Ended report =
      assay(here.path(), {"report", "latest", "--ceilings", (there.path() / "there.jsonl").string(),
                          "--output", "here.md"});
  ASSERT_EQ(report.exit_code, 0) << report.errors;
  EXPECT_THAT(here.read("here.md"), HasSubstr("copy of calibrate_copy-1"));
}

TEST(CalibrateTest, RefusesWhatItDoesNotKnow) {
  const Folder folder;
  const auto refused = [&](const std::vector<std::string>& words) {
    const Ended ended = assay(folder.path(), words);
    EXPECT_EQ(ended.exit_code, 2) << ended.output;
    return ended.errors;
  };
  EXPECT_THAT(refused({"calibrate", "matmull"}), HasSubstr("did you mean 'matmul'?"));
  EXPECT_THAT(refused({"calibrate", "--set", "sise=[1 MiB]"}), HasSubstr("sise"));
  // Only another experiment has this name.
  EXPECT_THAT(refused({"calibrate", "copy", "--set", "launches=1"}), HasSubstr("launches"));
  const std::string file = folder.write("attention.yaml", attention);
  ASSERT_EQ(assay(folder.path(), {"run", file}).exit_code, 0);
  EXPECT_THAT(refused({"calibrate", "--show"}),
              HasSubstr("no ceilings of this machine are stored"));
  EXPECT_THAT(refused({"report", "latest", "--ceilings", "latest"}),
              HasSubstr("'latest' has measured no ceiling"));
}

}  // namespace
}  // namespace assay::test
