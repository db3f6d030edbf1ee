// How a run measures a pass: cache policies and verification after timing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string attention_experiment(const std::string& matrix, const std::string& sizes,
                                 const std::string& measure) {
  return "experiment: measured\nworkload: attention\nmatrix: {" + matrix +
         "}\n"
         "fixed: {" +
         sizes +
         ", causal: true, device: cpu}\n"
         "measure: {" +
         measure + "}\n";
}

constexpr const char* small_sizes = "batch: 1, heads: 2, seq_len: 17, d_head: 8";

// The exported series of a run, by the value of an axis, the pass and the metric.
class Exported {
 public:
  Exported(const Folder& folder, const std::string& axis) {
    const Ended ended = assay(folder.path(), {"export", "latest"});
    EXPECT_EQ(ended.exit_code, 0) << ended.errors;
    std::istringstream stream(ended.output);
    nlohmann::json context;  // only in the first line of a case
    for (std::string line; std::getline(stream, line);) {
      auto series = nlohmann::json::parse(line);
      if (const auto& from = series["provenance"]; from.contains("case")) {
        context = from["case"]["context"];
      }
      series["context"] = context;
      series_[{series["case"][axis], series["pass"], series["metric"]}] = series;
    }
  }

  nlohmann::json of(const std::string& value, const std::string& pass,
                    const std::string& metric) const {
    const auto found = series_.find({value, pass, metric});
    return found == series_.end() ? nlohmann::json() : found->second;
  }

 private:
  std::map<std::array<std::string, 3>, nlohmann::json> series_;
};

TEST(MeasuringTest, EveryCachePolicyMeasuresAndNoneCountsAsTheCasesMemory) {
  const Folder folder;
  // `rotate` goes through 4 times the CPU's cache with up to 2048 programs of 2 MiB: tensors this
  // small are taken from the heap again, larger ones are mapped anew in each call.
  const std::string file =
      folder.write("e.yaml",
                   "experiment: measured\nworkload: norm\n"
                   "matrix: {measure.cache: [warm, flush, rotate]}\n"
                   "fixed: {rows: 256, n_cols: 1024, device: cpu}\n"
                   "measure: {passes: [forward_backward], warmup: 1, samples: 3}\n");
  const Ended ended = assay(folder.path(), {"run", file});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  const Exported exported(folder, "measure.cache");
  const std::string pass = "forward_backward";
  for (const std::string policy : {"warm", "flush", "rotate"}) {
    const auto time = exported.of(policy, pass, "time");
    ASSERT_FALSE(time.is_null()) << policy;
    EXPECT_EQ(time["outcome"], "ok") << policy << ": " << time["reason"];
    EXPECT_EQ(time["samples"].size(), 3u) << policy;
    EXPECT_EQ(time["context"]["timing"][pass]["cache"]["policy"], policy);
    for (const std::string metric : {"memory_before", "peak_memory"}) {
      EXPECT_EQ(exported.of(policy, pass, metric)["samples"],
                exported.of("warm", pass, metric)["samples"])
          << policy << " " << metric;
    }
  }
  const auto how = [&](const std::string& policy) {
    return exported.of(policy, pass, "time")["context"]["timing"][pass]["cache"];
  };
  EXPECT_GE(how("flush")["flushed_bytes"], 2 * how("flush")["cache_bytes"].get<std::int64_t>());
  const auto others = how("rotate")["programs"].get<std::int64_t>() - 1;
  EXPECT_GE(others * how("rotate")["program_bytes"].get<std::int64_t>(),
            2 * how("rotate")["cache_bytes"].get<std::int64_t>());
}

// The second call of each program that rotates spins for 0.2 s; other calls take a tenth or less.
TEST(MeasuringTest, EveryProgramThatRotatesIsWarmedUp) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml", attention_experiment("attention: [test_slow_second_call]",
                                     "batch: 64, heads: 8, seq_len: 16, d_head: 256",
                                     "passes: [forward], warmup: 1, samples: 40, cache: rotate"));
  const Ended ended =
      assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  const auto time = Exported(folder, "attention").of("test_slow_second_call", "forward", "time");
  ASSERT_FALSE(time.is_null());
  ASSERT_GE(time["context"]["timing"]["forward"]["cache"]["programs"], 2);
  for (const double sample : time["samples"]) EXPECT_LT(sample, 0.2);
}

TEST(MeasuringTest, WhatIsTooSmallToRotateIsUnsupportedAndNotMeasuredWarm) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml", attention_experiment("attention: [naive]", small_sizes,
                                     "passes: [forward], warmup: 1, samples: 2, cache: rotate"));
  EXPECT_EQ(assay(folder.path(), {"run", file}).exit_code, 0);
  const auto time = Exported(folder, "attention").of("naive", "forward", "time");
  EXPECT_EQ(time["outcome"], "unsupported");
  EXPECT_THAT(time["reason"].get<std::string>(), HasSubstr("rotate needs more programs"));
  EXPECT_TRUE(time["samples"].empty());
}

// The fixtures spin for 0.4 s in the first call, or in the first preparation, of their process.
class FirstCall : public ::testing::TestWithParam<const char*> {};

TEST_P(FirstCall, HoldsWhatAProcessDoesOnceAndNoSampleDoes) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml", attention_experiment(std::string(GetParam()) + ", repeat: [1]", small_sizes,
                                     "passes: [forward], warmup: 1, samples: 3"));
  const Ended ended =
      assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors << ended.output;
  const Exported exported(folder, "device");
  const auto first = exported.of("cpu", "forward", "first_call_time");
  EXPECT_GE(first["samples"][0].get<double>(), 0.4) << first;
  EXPECT_EQ(first["provenance"]["clock"], "wall");
  const auto time = exported.of("cpu", "forward", "time");
  ASSERT_EQ(time["samples"].size(), 3u) << time;
  for (const double sample_s : time["samples"]) EXPECT_LT(sample_s, 0.4) << time;
}

INSTANTIATE_TEST_SUITE_P(Spins, FirstCall,
                         ::testing::Values("attention: [test_slow_start]",
                                           "attention: [test_right], compile: "
                                           "[test_slow_preparation]"),
                         [](const auto& tested) {
                           return std::string(tested.index == 0 ? "Calling" : "Preparing");
                         });

TEST(MeasuringTest, WithoutAWarmUpTheFirstSampleIsTheFirstCall) {
  const Folder folder;
  const std::string file =
      folder.write("e.yaml", attention_experiment("attention: [test_slow_start]", small_sizes,
                                                  "passes: [forward], warmup: 0, samples: 3"));
  const Ended ended =
      assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors << ended.output;
  const Exported exported(folder, "attention");
  const auto time = exported.of("test_slow_start", "forward", "time");
  EXPECT_GE(time["samples"][0].get<double>(), 0.4) << time;
  EXPECT_LT(time["samples"][1].get<double>(), 0.4) << time;
  EXPECT_GE(exported.of("test_slow_start", "forward", "first_call_time")["samples"][0],
            time["samples"][0]);
}

struct WrongAfterTiming {
  const char* variant;
  const char* reason;
};

class VerificationTest : public ::testing::TestWithParam<WrongAfterTiming> {};

TEST_P(VerificationTest, CatchesWhatIsRightAtFirstAndWrongLater) {
  const Folder folder;
  const auto [variant, reason] = GetParam();
  const std::string file = folder.write(
      "e.yaml",
      attention_experiment("attention: [" + std::string(variant) + ", test_right]", small_sizes,
                           "passes: [forward, backward], warmup: 2, samples: 3"));
  const Ended ended =
      assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  const Exported exported(folder, "attention");
  const auto wrong = exported.of(variant, "forward", "time");
  EXPECT_EQ(wrong["outcome"], "wrong") << wrong;
  EXPECT_THAT(wrong["reason"].get<std::string>(),
              AnyOf(StartsWith("after timing: "), StartsWith("in a timed call: ")));
  EXPECT_THAT(wrong["reason"].get<std::string>(), HasSubstr(reason));
  EXPECT_TRUE(wrong["samples"].empty()) << wrong;
  for (const std::string pass : {"forward", "backward"}) {
    const auto right = exported.of("test_right", pass, "time");
    EXPECT_EQ(right["outcome"], "ok") << right["reason"];
    EXPECT_EQ(right["samples"].size(), 3u);
    EXPECT_EQ(exported.of("test_right", pass, "error")["samples"].size(), 1u);
    const auto checked = right["context"]["verification"][pass];
    EXPECT_LE(checked["before"]["error"], checked["before"]["tolerance"]) << checked;
    EXPECT_LE(checked["after"]["error"], checked["after"]["tolerance"]) << checked;
    EXPECT_EQ(checked["repeated"]["looks"], 10) << checked;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Variants, VerificationTest,
    ::testing::Values(
        WrongAfterTiming{"test_wrong_after_five", " by 0.5"},
        WrongAfterTiming{"test_wrong_every_seventh", " by 0.5"},
        WrongAfterTiming{"test_nan_after_five", "out holds NaN"},
        // Every timed call is wrong alike: only a new comparison with the reference shows it.
        WrongAfterTiming{"test_wrong_after_four", " differs from the reference by 0.5"}),
    [](const auto& tested) { return std::string(tested.param.variant); });

TEST(MeasuringTest, OneRowOfThousandsThatIsMissingIsWrong) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml", attention_experiment("attention: [test_wrong_row, test_right], precision: [bf16]",
                                     "batch: 1, heads: 1, seq_len: 4096, d_head: 8",
                                     "passes: [forward], warmup: 1, samples: 2"));
  assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  const Exported exported(folder, "attention");
  const auto wrong = exported.of("test_wrong_row", "forward", "time");
  EXPECT_EQ(wrong["outcome"], "wrong") << wrong;
  EXPECT_THAT(wrong["reason"].get<std::string>(),
              AnyOf(StartsWith("row [0, 0, 2048] of out differs from the reference by 0."),
                    StartsWith("row [0, 0, 2048] of out differs from the reference by 1,")));
  EXPECT_EQ(exported.of("test_right", "forward", "time")["outcome"], "ok");
}

// Broadcasting must not make the wrong shape right.
TEST(MeasuringTest, AWrongShapeOrDtypeIsNamed) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml", attention_experiment("attention: [test_one_row, test_wider, test_nothing]",
                                     small_sizes, "passes: [forward], warmup: 1, samples: 2"));
  EXPECT_EQ(
      assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")}).exit_code, 1);
  const Exported exported(folder, "attention");
  const auto reason = [&](const std::string& variant) {
    const auto time = exported.of(variant, "forward", "time");
    EXPECT_EQ(time["outcome"], "wrong") << time;
    return time["reason"].get<std::string>();
  };
  EXPECT_THAT(reason("test_one_row"), HasSubstr("has the shape [1, 2, 1, 8], not [1, 2, 17, 8]"));
  EXPECT_THAT(reason("test_wider"), HasSubstr("has the dtype Double, not Float"));
  EXPECT_THAT(reason("test_nothing"), HasSubstr("is an undefined tensor"));
}

TEST(MeasuringTest, ACallThatLeavesNoneOrTooManyOutputsIsWrong) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml",
      attention_experiment("attention: [test_right], compile: [test_never_runs, test_runs_within]",
                           small_sizes, "passes: [forward], warmup: 1, samples: 2"));
  EXPECT_EQ(
      assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")}).exit_code, 1);
  const Exported exported(folder, "compile");
  const auto reason = [&](const std::string& variant) {
    const auto time = exported.of(variant, "forward", "time");
    EXPECT_EQ(time["outcome"], "wrong") << time;
    return time["reason"].get<std::string>();
  };
  EXPECT_THAT(reason("test_never_runs"), HasSubstr("the call left no out"));
  EXPECT_THAT(reason("test_runs_within"), HasSubstr("the call left 2 results, not 1"));
}

}  // namespace
}  // namespace assay::test
