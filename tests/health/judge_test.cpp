#include "health/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "health/summary.h"
#include "health/throttle.h"

namespace assay::health {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Ten readings over ten seconds of a healthy GPU, on an otherwise idle machine of eight cores.
Observation fit() {
  Observation observation;
  observation.seconds = 9;
  for (int i = 0; i < 10; ++i) {
    Reading reading;
    reading.time_s = i;
    GpuReading gpu;
    gpu.sm_clock_hz = 1.9e9 + 1e6 * i;
    gpu.power_w = 700;
    gpu.energy_j = 700.0 * i;
    gpu.clock_reasons = clock_reason::application_clocks;
    gpu.held_by_power_s = 5;
    gpu.held_by_heat_s = 6;
    gpu.processes.emplace();
    gpu.processes->push_back({100, "assay", GpuProcess::Owner::us});
    reading.gpus.push_back(gpu);
    CpuReading cpu;
    cpu.busy_s = 50 + 8.0 * i;
    cpu.own_s = 10 + 8.0 * i;
    cpu.stolen_s = 3;
    cpu.thermal_events = 7;
    cpu.quota_s = 2;
    cpu.load = 8.5;
    reading.cpu = cpu;
    observation.readings.push_back(reading);
  }
  return observation;
}

Needs on_gpu() { return {{0}, 1, 2, 8}; }
Needs on_cpu() { return {{}, 1, 8, 8}; }

auto marked(const std::string& word) { return ElementsAre(Field(&store::Mark::mark, word)); }

TEST(Judge, AFitMachineHasNoMarks) {
  EXPECT_THAT(judge(fit(), on_gpu()), IsEmpty());
  EXPECT_THAT(judge(fit(), on_cpu()), IsEmpty());
  EXPECT_THAT(judge({}, on_gpu()), IsEmpty()) << "nothing is known";
}

TEST(Judge, ThrottledSaysByWhatAndHowOften) {
  Observation observation = fit();
  for (const int i : {3, 4, 5}) observation.readings[i].gpus[0].clock_reasons = 0x4;
  observation.readings[6].gpus[0].clock_reasons = 0x8 | 0x40;
  const auto marks = judge(observation, on_gpu());
  ASSERT_THAT(marks, marked("throttled"));
  EXPECT_EQ(marks[0].pass, "");
  EXPECT_EQ(marks[0].reason,
            "the clocks of GPU 0 were held down by its power limit (3 of 9 readings) and heat "
            "(hardware slowdown) (1 of 9 readings)");
}

TEST(Judge, WhatHeldTheClocksBeforeTheCaseIsNotHeldAgainstIt) {
  Observation observation = fit();
  observation.readings[0].gpus[0].clock_reasons = 0x4;
  EXPECT_THAT(judge(observation, on_gpu()), IsEmpty());
  observation.readings[9].gpus[0].clock_reasons = 0x4;
  EXPECT_THAT(judge(observation, on_gpu()), marked("throttled"));
}

TEST(Judge, EachHarmfulReasonThrottlesAndNoSettingDoes) {
  for (const std::uint64_t bit : {0x4, 0x8, 0x20, 0x40, 0x80}) EXPECT_NE(harmful(bit), 0u);
  for (const std::uint64_t bit : {0x1, 0x2, 0x10, 0x100}) EXPECT_EQ(harmful(bit), 0u);
  EXPECT_EQ(harmful(0x1 | 0x4), 0u) << "an idle GPU has low clocks anyway";
}

TEST(Judge, ThrottlingBetweenTwoReadingsIsInTheCounters) {
  Observation observation = fit();
  observation.readings.back().gpus[0].held_by_power_s = 5.05;
  EXPECT_THAT(judge(observation, on_gpu()), IsEmpty()) << "0.05 s of 9 s";
  observation.readings.back().gpus[0].held_by_power_s = 5.5;
  const auto marks = judge(observation, on_gpu());
  ASSERT_THAT(marks, marked("throttled"));
  EXPECT_THAT(marks[0].reason, HasSubstr("by its power limit (0.5 s of 9 s)"));
}

TEST(Judge, HeatAndQuotaThrottleCoresToo) {
  Observation observation = fit();
  observation.readings.back().cpu->thermal_events = 9;
  EXPECT_EQ(judge(observation, on_cpu())[0].reason, "heat slowed the cores down 2 times");
  observation = fit();
  observation.readings.back().cpu->quota_s = 3.2;
  ASSERT_THAT(judge(observation, on_cpu()), marked("throttled"));
  EXPECT_THAT(judge(observation, on_cpu())[0].reason, HasSubstr("stopped it for 1.2 s"));
}

TEST(Judge, SharedNamesTheOthers) {
  Observation observation = fit();
  observation.readings[4].gpus[0].processes->push_back({7, "python", GpuProcess::Owner::others});
  observation.readings[5].gpus[0].processes->push_back({7, "python", GpuProcess::Owner::others});
  observation.readings[5].gpus[0].processes->push_back({8, "", GpuProcess::Owner::others});
  const auto marks = judge(observation, on_gpu());
  ASSERT_THAT(marks, marked("shared"));
  EXPECT_EQ(marks[0].reason, "GPU 0 was also used by python (pid 7) and a process (pid 8)");
  EXPECT_THAT(judge(observation, on_cpu()), IsEmpty()) << "the case does not use the GPU";
}

TEST(Judge, AProcessSeenJustBeforeAShortCaseCounts) {
  Observation observation = fit();
  GpuReading before;
  before.processes.emplace();
  before.processes->push_back({7, "python", GpuProcess::Owner::others});
  observation.processes_before.push_back(before);
  EXPECT_THAT(judge(observation, on_gpu()), marked("shared"));
}

TEST(Judge, OfProcessesThatCannotBeToldApartOursAreTakenOff) {
  Observation observation = fit();
  for (Reading& reading : observation.readings) {
    reading.gpus[0].processes->front().owner = GpuProcess::Owner::unknown;
  }
  EXPECT_THAT(judge(observation, on_gpu()), IsEmpty()) << "it may be our worker";
  observation.readings[2].gpus[0].processes->push_back({9, "", GpuProcess::Owner::unknown});
  ASSERT_THAT(judge(observation, on_gpu()), marked("shared"));
  EXPECT_THAT(judge(observation, on_gpu())[0].reason, HasSubstr("a process of another container"));
  observation.readings[2].gpus[0].processes->push_back({10, "w", GpuProcess::Owner::us});
  EXPECT_THAT(judge(observation, on_gpu())[0].reason, HasSubstr("2 processes of other containers"))
      << "ours has been seen under its own number";
}

// A container numbers its processes in its own namespace.
TEST(Judge, AWorkerThatTookAnothersPlaceIsNoStranger) {
  Observation observation = fit();
  GpuReading before;
  before.processes.emplace();
  before.processes->push_back({100, "", GpuProcess::Owner::unknown});
  observation.processes_before.push_back(before);
  for (Reading& reading : observation.readings) {
    reading.gpus[0].processes = {{200, "", GpuProcess::Owner::unknown}};
  }
  EXPECT_THAT(judge(observation, on_gpu()), IsEmpty());
  observation.processes_before[0].processes->push_back({300, "", GpuProcess::Owner::unknown});
  EXPECT_THAT(judge(observation, on_gpu()), marked("shared")) << "two at a time";
}

TEST(Judge, BusyIsMoreThanTheCaseCanSpare) {
  Observation observation = fit();
  observation.readings.back().cpu->busy_s = *observation.readings.back().cpu->busy_s + 0.2 * 9;
  EXPECT_THAT(judge(observation, on_cpu()), IsEmpty()) << "a fifth of a core";
  observation.readings.back().cpu->busy_s = *observation.readings.back().cpu->busy_s + 1.3 * 9;
  const auto marks = judge(observation, on_cpu());
  ASSERT_THAT(marks, marked("busy"));
  EXPECT_EQ(marks[0].reason, "other programs used 1.50 of 8 cores");
  EXPECT_THAT(judge(observation, on_gpu()), IsEmpty()) << "it needs two of eight cores";
}

TEST(Judge, WhatTheHypervisorTakesCountsAsWell) {
  Observation observation = fit();
  observation.readings.back().cpu->stolen_s = 3 + 0.5 * 9;
  ASSERT_THAT(judge(observation, on_cpu()), marked("busy"));
  EXPECT_EQ(judge(observation, on_cpu())[0].reason, "other virtual machines 0.50 of 8 cores");
}

TEST(Judge, TheBoundOfOthersFollowsFromWhatTheCaseNeeds) {
  EXPECT_DOUBLE_EQ(harmless_cores({{}, 1, 2, 2}), 0.25);
  EXPECT_DOUBLE_EQ(harmless_cores({{}, 1, 128, 128}), 2.56);
  EXPECT_DOUBLE_EQ(harmless_cores({{0}, 1, 2, 16}), 7);
}

TEST(Judge, AShortCaseIsJudgedByTheHalfSecondUpToItsEnd) {
  Observation observation = fit();
  observation.seconds = 0.02;
  observation.readings.resize(2);
  observation.readings[1].time_s = 0.02;
  observation.readings[1].cpu->busy_s = 50.02;
  observation.readings[1].cpu->own_s = 10;
  EXPECT_FALSE(cpu_work(observation).others_cores) << "0.02 s say nothing";
  Reading before = observation.readings[0];
  before.time_s = -0.5;
  before.cpu->busy_s = 49.4;
  observation.before = before;
  EXPECT_NEAR(cpu_work(observation).others_cores.value(), 0.62 / 0.52, 1e-9);
}

TEST(Summary, HoldsRangesSharesAndDifferences) {
  Observation observation = fit();
  for (const int i : {3, 4}) observation.readings[i].gpus[0].clock_reasons = 0x4;
  observation.readings[4].gpus[0].processes->push_back({7, "python", GpuProcess::Owner::others});
  const nlohmann::json health = to_json(observation);
  EXPECT_EQ(health["readings"], 10);
  EXPECT_EQ(health["seconds"], 9.0);
  const nlohmann::json& gpu = health["gpus"][0];
  EXPECT_EQ(gpu["device"], 0);
  EXPECT_EQ(gpu["sm_clock_hz"]["min"], 1.9e9);
  EXPECT_EQ(gpu["sm_clock_hz"]["median"], 1.905e9);
  EXPECT_EQ(gpu["sm_clock_hz"]["max"], 1.909e9);
  EXPECT_EQ(gpu["energy_j"], 6300.0);
  EXPECT_EQ(gpu["clock_reasons"],
            nlohmann::json({{"application_clocks", 0.8}, {"power_cap", 0.2}}));
  EXPECT_EQ(gpu["other_processes"], nlohmann::json::parse(R"([{"pid": 7, "name": "python"}])"));
  EXPECT_FALSE(gpu.contains("temperature_c")) << "what was not read is absent";
  EXPECT_EQ(health["cpu"]["own_cores"], 8.0);
  EXPECT_EQ(health["cpu"]["others_cores"], 0.0);
  EXPECT_EQ(health["cpu"]["load"], 8.5);
  EXPECT_FALSE(to_json({}).contains("gpus"));
  EXPECT_FALSE(to_json({}).contains("cpu"));
}

store::Series times(std::vector<double> samples, const std::string& pass = "forward",
                    int rank = 0) {
  store::Series series;
  series.pass = pass;
  series.metric = "time";
  series.unit = "s";
  series.clock = "wall";
  series.rank = rank;
  series.samples = std::move(samples);
  return series;
}

TEST(JudgeSamples, ADriftMarksItsPass) {
  std::vector<double> rising;
  for (int i = 0; i < 30; ++i) rising.push_back(1 + 0.002 * i + (i % 2 == 0 ? 0.0005 : 0));
  const auto marks = judge_samples({times(rising, "backward"), times({1, 1, 1, 1, 1, 1})});
  ASSERT_THAT(marks, marked("drifting"));
  EXPECT_EQ(marks[0].pass, "backward");
  EXPECT_THAT(marks[0].reason, HasSubstr("rose by 4.0 %"));
}

TEST(JudgeSamples, ASpreadMarksItsPass) {
  // The second largest is 12 % above the median, the second smallest 8 % below.
  const auto marks =
      judge_samples({times({1.00, 1.12, 0.92, 1.01, 0.99, 1.00, 1.2, 1.02, 0.9, 0.98})});
  ASSERT_THAT(marks, marked("wide"));
  EXPECT_EQ(marks[0].pass, "forward");
  EXPECT_EQ(marks[0].reason,
            "the median of 10 samples is known to ± 12.0 % (95 % interval), not to 10 %");
}

TEST(JudgeSamples, TheUsualNumberOfSamplesOfAHealthyPassIsNotWide) {
  // A standard deviation of 5 %: the interval of ten samples reaches 7 %.
  EXPECT_THAT(judge_samples({times({1.00, 1.06, 0.93, 1.01, 0.99, 1.00, 1.08, 1.02, 0.92, 0.98})}),
              IsEmpty());
}

TEST(JudgeSamples, SamplesTooFewForAnIntervalAreWideWhenTheyAreFarApart) {
  const auto marks = judge_samples({times({1.0, 1.2, 0.9})});
  ASSERT_THAT(marks, marked("wide"));
  EXPECT_EQ(marks[0].reason,
            "3 samples, too few for a 95 % interval, lie ± 20.0 % around their median, not 10 %");
  EXPECT_THAT(judge_samples({times({1.0, 1.08, 0.92})}), IsEmpty());
  EXPECT_THAT(judge_samples({times({1.0})}), IsEmpty());
}

TEST(JudgeSamples, TheSlowestRankOfEachSampleIsJudged) {
  const std::vector<double> a = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, b = {2, 1, 2, 1, 2, 1, 2, 1, 2, 1};
  EXPECT_THAT(judge_samples({times(a, "forward", 0), times(b, "forward", 1)}), IsEmpty());
  EXPECT_THAT(judge_samples({times(a, "forward", 0)}), marked("wide"));
}

TEST(JudgeSamples, OtherMetricsAndFailedPassesAreNotJudged) {
  store::Series memory = times({1, 2, 3, 4, 5, 6, 7});
  memory.metric = "peak_memory";
  store::Series failed = times({1, 2, 3, 4, 5, 6, 7});
  failed.outcome = Outcome::oom;
  EXPECT_THAT(judge_samples({memory, failed}), IsEmpty());
}

}  // namespace
}  // namespace assay::health
