// Sampling from the experiment to the report: stopping at a target, batches.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/program.h"

namespace assay::test {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string norm(int rows, int n_cols, const std::string& measure) {
  return fmt::format(
      "experiment: sampling\nworkload: norm\nfixed: {{rows: {}, n_cols: {}, device: cpu}}\n"
      "measure: {{passes: [forward], {}}}\n",
      rows, n_cols, measure);
}

// The `time` series of the run and the facts of how it was taken.
struct Times {
  json samples;
  json timing;
};

std::vector<Times> times_of(const Folder& folder) {
  const Ended ended = assay(folder.path(), {"export", "latest"});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  std::vector<Times> times;
  json context;
  std::istringstream stream(ended.output);
  for (std::string line; std::getline(stream, line);) {
    const json read = json::parse(line);
    if (read["provenance"].contains("case")) context = read["provenance"]["case"]["context"];
    if (read["metric"] == "time" && read["rank"] == 0) {
      times.push_back({read["samples"], context["timing"][read["pass"].get<std::string>()]});
    }
  }
  return times;
}

TEST(Sampling, GoesOnUntilTheMedianIsKnownOrSaysWhatEndedIt) {
  const Folder folder;
  const std::string file = folder.write(
      "until.yaml", norm(64, 64, "target: 50%, min_samples: 12, max_samples: 400, max_time: 20 s"));
  const Ended ended = assay(folder.path(), {"run", file});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const std::vector<Times> times = times_of(folder);
  ASSERT_EQ(times.size(), 1u);
  const json& timing = times[0].timing;
  EXPECT_GE(times[0].samples.size(), 12u);
  EXPECT_LE(times[0].samples.size(), 400u);
  EXPECT_EQ(timing["samples"], times[0].samples.size());
  EXPECT_EQ(timing["target"], 0.5);
  EXPECT_EQ(timing["clock"], "wall");
  if (timing["stopped_by"] == "target") {
    EXPECT_LE(timing["relative_interval"].get<double>(), 0.5);
  } else {
    EXPECT_THAT(timing["stopped_by"].get<std::string>(), AnyOf("max_samples", "max_time"));
  }
  EXPECT_THAT(folder.read("results/sampling-1/report.md"),
              HasSubstr("of 1 timing reached the target, with"));
}

TEST(Sampling, ABudgetThatIsOverAtOnceStillGivesASample) {
  const Folder folder;
  const std::string file =
      folder.write("over.yaml", norm(20000, 256, "target: 0.0001%, max_time: 1 ms"));
  const Ended ended = assay(folder.path(), {"run", file});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const std::vector<Times> times = times_of(folder);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].samples.size(), 1u);
  EXPECT_EQ(times[0].timing["stopped_by"], "max_time");
  EXPECT_THAT(folder.read("results/sampling-1/report.md"), HasSubstr("max_time was reached"));
}

// A call lasts one or two microseconds: less than 1000 steps of any clock.
TEST(Sampling, ShortCallsAreGroupedAndDividedBack) {
  const Folder folder;
  const std::string file = folder.write("short.yaml",
                                        "experiment: sampling\nworkload: launch\n"
                                        "fixed: {operation: libtorch, launches: 1, device: cpu}\n"
                                        "matrix: {measure.calls_per_sample: [1, 10000]}\n"
                                        "measure: {samples: 5}\n");
  const Ended ended = assay(folder.path(), {"run", file});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const std::vector<Times> times = times_of(folder);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_GT(times[0].timing["grouped_calls"].get<int>(), 1);
  EXPECT_EQ(times[0].samples.size(), 5u);
  EXPECT_EQ(times[1].timing["grouped_calls"], 10000);
  EXPECT_EQ(times[0].timing["stopped_by"], "count");
  for (const json& sample : times[0].samples) {
    EXPECT_LT(sample.get<double>(), times[1].samples[0].get<double>() / 100);
  }
  EXPECT_THAT(folder.read("results/sampling-1/report.md"),
              HasSubstr("1 of 2 timings had calls too short for one reading of the clock"));
}

TEST(Sampling, WithoutAWarmUpNothingIsGrouped) {
  const Folder folder;
  const std::string file = folder.write("cold.yaml", norm(1, 8, "warmup: 0, samples: 3"));
  const Ended ended = assay(folder.path(), {"run", file});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const std::vector<Times> times = times_of(folder);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].samples.size(), 3u);
  EXPECT_EQ(times[0].timing["grouped_calls"], 1);
}

TEST(Sampling, RanksTakeTheSameNumberOfSamples) {
  const Folder folder;
  const Ended ended = assay(
      folder.path(),
      {"run", folder.write("ranks.yaml",
                           "experiment: sampling\nworkload: model_step\n"
                           "fixed: {model: toy, architecture: gelu, batch: 1, seq_len: 8, device: "
                           "cpu, communication: naive, world_size: 2}\n"
                           "measure: {passes: [train_step], warmup: 1, target: 20%, "
                           "min_samples: 5, max_samples: 20, max_time: 4 min}\n")});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const Ended exported = assay(folder.path(), {"export", "latest"});
  std::map<int, std::size_t> samples;
  std::istringstream stream(exported.output);
  for (std::string line; std::getline(stream, line);) {
    const json read = json::parse(line);
    if (read["metric"] == "time") samples[read["rank"].get<int>()] = read["samples"].size();
  }
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0], samples[1]);
  EXPECT_GE(samples[0], 5u);
}

}  // namespace
}  // namespace assay::test
