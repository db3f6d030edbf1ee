// Collectives from the experiment to its report: both questions, start-up by stage, sizes that do
// not fit and backends that are not there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

// A size too large for any machine, one that fits, and a backend without its device.
constexpr const char* ranks_experiment = R"(experiment: ranks
workload: collective
include:
  - {size: 1000 GB}
  - {size: 1 KiB}
  - {size: 1 KiB, world_size: 3}
  - {size: 1 KiB, backend: nccl, device: cpu}
fixed: {world_size: 2, backend: gloo, device: cpu, calls: 4, lone_calls: 10}
measure: {passes: [all_reduce, all_to_all], warmup: 1, samples: 3, isolation: case}
report:
  - layout: collective_questions
  - layout: {name: collective_lines, where: pass == all_reduce}
  - layout: startup_stages
)";

using Series = std::map<std::string, std::vector<nlohmann::json>>;  // by metric

Series series_of(const std::vector<nlohmann::json>& lines, std::int64_t size, std::int64_t ranks,
                 const std::string& pass) {
  Series found;
  for (const auto& line : lines) {
    const auto& of_case = line["case"];
    if (of_case.value("size", 0LL) != size || of_case.value("world_size", 0LL) != ranks) continue;
    if (of_case.value("backend", "") == "gloo" && line["pass"] == pass) {
      found[line["metric"]].push_back(line);
    }
  }
  return found;
}

TEST(Collectives, AreTimedInARowAndAloneOnEveryRank) {
  const Folder folder;
  const Ended run = assay(folder.path(), {"run", folder.write("ranks.yaml", ranks_experiment)});
  EXPECT_EQ(run.exit_code, 1) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("2 ok")) << run.errors;
  const auto lines = exported(folder.path());

  for (const std::int64_t ranks : {2, 3}) {
    for (const char* pass : {"all_reduce", "all_to_all"}) {
      Series series = series_of(lines, 1024, ranks, pass);
      for (const char* metric : {"time", "lone_time", "launch_time"}) {
        std::set<int> found;
        for (const auto& line : series[metric]) {
          found.insert(line["rank"].get<int>());
          EXPECT_GE(line["samples"].size(), 3u) << metric;
        }
        EXPECT_EQ(found.size(), static_cast<std::size_t>(ranks)) << metric << " of " << pass;
      }
      ASSERT_EQ(series["end_skew"].size(), 1u) << pass;
      EXPECT_EQ(series["end_skew"][0]["samples"].size(), series["lone_time"][0]["samples"].size());
    }
  }
  const Series too_large = series_of(lines, 1'000'000'000'000, 2, "all_reduce");
  ASSERT_TRUE(too_large.contains("time"));
  EXPECT_EQ(too_large.at("time")[0]["outcome"], "oom");

  const std::string report = folder.read("results/ranks-1/report.md");
  EXPECT_THAT(report, HasSubstr("alone p50 [us]"));
  EXPECT_THAT(report, HasSubstr("OOM"));
  EXPECT_THAT(report, HasSubstr("[WARNING] NCCL needs GPUs"));
  EXPECT_THAT(report, HasSubstr("GLOO | cpu  | 2 proc |"));
}

// The stages of a rank add up to its total, which begins before the case did.
TEST(Collectives, TellWhatTheirStartCosts) {
  const Folder folder;
  const Ended run =
      assay(folder.path(), {"run", folder.write("ranks.yaml", ranks_experiment), "--filter",
                            "size == 1024 && backend == gloo && world_size == 2"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  Series series = series_of(exported(folder.path()), 1024, 2, "all_reduce");
  std::map<int, double> sums;
  std::set<std::string> stages;
  for (const auto& line : series["startup_time"]) {
    sums[line["rank"].get<int>()] += line["samples"][0].get<double>();
    stages.insert(line["part"].get<std::string>());
  }
  EXPECT_EQ(stages, (std::set<std::string>{"process", "rendezvous", "communicator", "building",
                                           "first call"}));
  ASSERT_EQ(series["total_time"].size(), 2u);
  for (const auto& line : series["total_time"]) {
    EXPECT_NEAR(line["samples"][0].get<double>(), sums[line["rank"].get<int>()], 1e-6);
  }
}

}  // namespace
}  // namespace assay::test
