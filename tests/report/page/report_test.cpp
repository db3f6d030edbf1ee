#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "rendering.h"

namespace assay::report {
namespace {

using nlohmann::json;
using ::testing::Contains;
using testing_support::cells_of;
using testing_support::run_of;
using Cells = std::vector<std::string>;

store::Run measured_run() {
  store::Run run = run_of(
      "seq_len,attention,measure.warmup,pass,time.samples [ms],peak_memory.mean [MiB]\n"
      "128,naive,5,forward,1 1.1 0.9,10\n128,flash,5,forward,0.5 0.5 0.5,4\n"
      "256,naive,5,forward,4 4.1 3.9,40\n256,flash,5,forward,1 1 1,8\n"
      "512,naive,5,forward,16 16.2 15.8,160\n512,flash,5,forward,2 2 2,16\n",
      "2031-02-03_attention");
  run.info.experiment = "attention";
  run.info.title = "Is the fused attention faster?";
  run.info.first.experiment_file = "experiments/attention.yaml";
  run.info.first.experiment_text =
      "experiment: attention\nmatrix:\n  seq_len: [128]\n  attention: [naive, flash]\n";
  run.info.started = "2031-02-03T04:05:06Z";
  run.info.finished = "2031-02-03T04:06:06Z";
  run.info.first.machine = {
      {"host", "node1"},
      {"cpu", "A CPU"},
      {"cores", 8},
      {"memory_bytes", 17179869184},
      {"gpu_driver", "580.1"},
      {"gpus",
       {{{"name", "A GPU"}, {"memory_bytes", 85899345920}, {"compute_capability", "9.0"}},
        {{"name", "A GPU"}, {"memory_bytes", 85899345920}, {"compute_capability", "9.0"}}}}};
  run.info.first.provenance = {{"source", {{"commit", "0123456789abcdef"}, {"clean", true}}}};
  for (auto& result : run.cases) {
    result.facts.versions = {{"libtorch", std::string("2.11.0")}};
    for (auto& series : result.series) series.clock = series.metric == "time" ? "wall" : "";
  }
  return run;
}

std::string report_of(const std::vector<const store::Run*>& runs, const std::string& yaml = "") {
  Inputs inputs;
  inputs.sources.assign(runs.begin(), runs.end());
  if (!yaml.empty()) inputs.spec = *yaml::parse(yaml, "spec.yaml");
  const auto document = build(inputs);
  return document ? *to_markdown(*document) : "ERROR " + document.error().text();
}

store::SamplingFacts timing(int samples, const char* stopped_by,
                            std::optional<double> relative_interval, int grouped_calls = 1,
                            bool too_short = false) {
  return {.samples = samples,
          .calls_per_sample = 1,
          .grouped_calls = grouped_calls,
          .too_short = too_short,
          .target = 0.01,
          .stopped_by = stopped_by,
          .relative_interval = relative_interval};
}

TEST(Report, SaysHowSamplesWereTaken) {
  store::Run run = measured_run();
  EXPECT_EQ(report_of({&run}, "- heading: Results").find("**samples**"), std::string::npos);
  for (auto& result : run.cases) result.parameters["measure.target"] = 0.01;
  run.cases[0].facts.timing["forward"] = timing(12, "target", 0.004, 340);
  run.cases[1].facts.timing["forward"] = timing(20, "target", 0.009, 25);
  run.cases[2].facts.timing["forward"] = timing(40, "max_time", 0.0321);
  run.cases[3].facts.timing["forward"] = timing(1000, "max_samples", {});
  run.cases[4].facts.timing["forward"] = timing(10, "target", 0.0, 100000, true);
  const std::string text = report_of({&run}, "- heading: Results");
  EXPECT_NE(
      text.find("- **samples**: "
                "3 of 5 timings had calls too short for one reading of the clock: it timed batches "
                "of 25 to "
                "100000 calls. "
                "Still too short for the clock: "
                "attention naive, seq_len 512, forward. "
                "3 of 5 timings reached the target, with 10 to 1000 samples. Not reached: "
                "attention naive, seq_len 256, forward (max_time was reached, 40 samples, known "
                "to ± 3.2 %); "
                "attention flash, seq_len 256, forward (max_samples was reached, 1000 "
                "samples, interval unknown)\n"),
      std::string::npos)
      << text;
}

TEST(Report, ByDefaultTimesAreMediansWhereAllHaveOne) {
  const store::Run run = run_of(
      "seq_len,pass,time.samples [ms]\n"
      "128,forward,1 1 1 1 1 1 1 1 10\n256,forward,3 3 3 3 3 3 3 3 30\n");
  const std::string known = report_of({&run});
  EXPECT_THAT(cells_of(known), Contains(Cells{"128", "1 ± 0"})) << known;
  EXPECT_NE(known.find("\nTimes are medians"), std::string::npos) << known;
  const store::Run means = run_of(
      "seq_len,pass,time.mean [ms],time.std [ms],time.samples [ms]\n128,forward,2,3,\n"
      "256,forward,,,4 4 4\n");
  const std::string mixed = report_of({&means});
  EXPECT_THAT(cells_of(mixed), Contains(Cells{"128", "2.0 ± 3.0"})) << mixed;
  EXPECT_NE(mixed.find("\nTimes are means"), std::string::npos) << mixed;
}

TEST(Report, BeginsWithItsFindingsWhereverTheyStandInItsList) {
  const store::Run run = measured_run();
  const std::string text = report_of({&run},
                                     "- heading: Times\n- table: {rows: [seq_len, attention], "
                                     "columns: {s: {metric: time, unit: s}}}\n"
                                     "- heading: What was found\n- findings: [speedup]\n");
  EXPECT_LT(text.find("## What was found\n\n- **flash"), text.find("## Environment"));
  EXPECT_LT(text.find("## Environment"), text.find("## Times"));
  EXPECT_EQ(text.find("## What was found"), text.rfind("## What was found"));
}

TEST(Report, ByDefaultShowsWhatTheWorkloadCounts) {
  const store::Run run = run_of(
      "workload,device,precision,seq_len,pass,time.samples [ms],flops.value [GFLOP],bytes.value "
      "[GB]\nattention,cuda,bf16,128,forward,1 1 1,100,1\nattention,cuda,bf16,256,forward,2 2 "
      "2,400,2\n");
  EXPECT_THAT(cells_of(report_of({&run})),
              Contains(Cells{"seq_len", "forward flops [TFLOP/s]", "forward bytes [TB/s]"}));
  Inputs inputs;
  inputs.sources = {&run};
  inputs.ceilings = [](const store::Run&) {
    Ceilings ceilings;
    ceilings.add(
        run_of("workload,device,dtype,m,pass,time.samples [ms],flops.value [GFLOP]\n"
               "matmul,cuda,bf16,1,matmul,1,800\n"));
    return ceilings;
  };
  const auto shares = cells_of(*to_markdown(*build(inputs)));
  EXPECT_THAT(shares, Contains(Cells{"seq_len", "forward flops [TFLOP/s]",
                                     "forward flops of ceiling [%]", "forward bytes [TB/s]"}));
  EXPECT_THAT(shares, Contains(Cells{"128", "100", "12.5", "1"}));
  EXPECT_THAT(shares, Contains(Cells{"256", "200", "25", "1"}));
}

TEST(Report, WhatHasNoHeadingStandsUnderResults) {
  const store::Run run = measured_run();
  const std::string table = "- table: {columns: {s: {metric: time, unit: s}}}";
  EXPECT_NE(report_of({&run}, table).find("\n## Results\n"), std::string::npos);
  EXPECT_EQ(report_of({&run}, "- heading: Times\n" + table).find("## Results"), std::string::npos);
}

TEST(Report, SaysWhatWasDifferentWhereItWasTakenUpAgain) {
  store::Run run = measured_run();
  const auto machine = [](const char* uuid) {
    return nlohmann::json{{"host", "there"}, {"gpus", {{{"name", "H200"}, {"uuid", uuid}}}}};
  };
  run.info.first.machine = machine("GPU-1");
  EXPECT_EQ(report_of({&run}, "- heading: Results").find("resumed"), std::string::npos);
  store::Session session{
      run.info.first.experiment_text, "", run.info.first.overrides, machine("GPU-2"), {}};
  session.overrides = {"--filter", "seq_len == 256"};
  run.info.sessions = {session};
  run.cases[3].session = run.cases[4].session = 1;
  EXPECT_NE(report_of({&run}, "- heading: Results")
                .find("- **resumed**: 2 cases: another H200, overrides --filter "
                      "seq_len == 256\n"),
            std::string::npos)
      << report_of({&run}, "- heading: Results");
}

TEST(Report, NamesTimingsWhoseLaunchesMayHaveGaps) {
  store::Run run = measured_run();
  for (auto& result : run.cases) {
    result.facts.timing["forward"] = timing(12, "count", 0.004);
    result.facts.timing["forward"].clock_facts = {.calls = 40, .calls_with_launch_gaps = 4};
  }
  EXPECT_EQ(report_of({&run}, "- heading: Results").find("gaps"), std::string::npos)
      << "one in ten is too few to move a median";
  run.cases[2].facts.timing["forward"].clock_facts.calls_with_launch_gaps = 10;
  EXPECT_NE(
      report_of({&run}, "- heading: Results")
          .find("With gaps in which the device may have waited for the host: attention naive, "
                "seq_len 256, forward (25 % of its calls)"),
      std::string::npos);
}

TEST(Report, NamesTimingsThatTheClockMayShowOnePercentWrong) {
  store::Run run = measured_run();
  for (auto& result : run.cases) {
    result.facts.timing["forward"] = timing(12, "count", 0.004);
    result.facts.timing["forward"].clock_facts = {.call_error_s = 0.1e-6};
    for (auto& series : result.series) {
      if (series.metric == "time") series.samples = {10.1e-6, 10.1e-6, 10.1e-6};
    }
  }
  EXPECT_EQ(report_of({&run}, "- heading: Results").find("The clock may be off"),
            std::string::npos);
  for (auto& series : run.cases[2].series) {
    if (series.metric == "time" && series.pass == "forward") series.samples = {5e-6, 5e-6, 9e-6};
  }
  EXPECT_NE(report_of({&run}, "- heading: Results")
                .find("The clock may be off by over 1 % of a call, in the same direction for each: "
                      "attention naive, seq_len 256, forward (0.1 us of 5 us)"),
            std::string::npos)
      << report_of({&run}, "- heading: Results");
}

TEST(Report, SaysThatExternalProgramsKnowNoTarget) {
  store::Run run = measured_run();
  run.cases[0].facts.timing["forward"] = timing(12, "target", 0.004);
  run.cases[1].facts.timing["forward"] = timing(10, "count", 0.0321);
  run.cases[2].facts.timing["forward"] = timing(10, "count", 0.005);
  run.cases[3].facts.timing["forward"] = timing(7, "program", {});
  const std::string text = report_of({&run}, "- heading: Results");
  EXPECT_NE(text.find("2 of 4 timings reached the target, with 7 to 12 samples. Not reached: "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("forward (an external program took a fixed number, 10 samples, known "
                      "to ± 3.2 %); "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("forward (an external program decided, 7 samples, interval unknown)"),
            std::string::npos)
      << text;
}

TEST(Report, SettingsThatSaidNothingAreLeftOut) {
  store::Run run = measured_run();
  const auto measured_with = [&](double target) {
    for (auto& result : run.cases) {
      result.parameters["measure.samples"] = std::int64_t{10};
      result.parameters["measure.target"] = target;
      result.parameters["measure.min_samples"] = std::int64_t{20};
      result.parameters["measure.max_samples"] = std::int64_t{50};
      result.parameters["measure.max_time"] = 3.0;
    }
    const std::string text = report_of({&run}, "- heading: Results");
    const std::size_t begin = text.find("- **measured with**");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(measured_with(0),
            "- **measured with**: samples 10, warmup 5, clock wall, before integrity");
  EXPECT_EQ(measured_with(0.01),
            "- **measured with**: max_samples 50, max_time 3 s, min_samples 20, target 1 %, "
            "warmup 5, clock wall, before integrity");
  run.cases[0].facts.verification["forward"].timed.integrity = "fast";
  run.cases[1].facts.verification["forward"].timed.integrity = "full";
  EXPECT_EQ(measured_with(0),
            "- **measured with**: samples 10, warmup 5, clock wall, integrity fast and full");
}

TEST(Report, BeginsWithQuestionEnvironmentAndExperiment) {
  const store::Run run = measured_run();
  const std::string text = report_of({&run}, "- heading: Results");
  EXPECT_EQ(text,
            "# attention\n"
            "\n"
            "Is the fused attention faster?\n"
            "\n"
            "## Environment\n"
            "\n"
            "- **run**: 2031-02-03_attention, 2031-02-03T04:05:06Z\n"
            "- **cases**: 6 cases (6 ok)\n"
            "- **host**: node1\n"
            "- **CPU**: A CPU, 8 cores, 16.00 GiB\n"
            "- **GPU**: 2 × A GPU, 80.00 GiB, compute capability 9.0, driver 580.1\n"
            "- **versions**: libtorch 2.11.0, assay 0123456789ab\n"
            "- **measured with**: warmup 5, clock wall, before integrity\n"
            "\n"
            "<details>\n"
            "<summary>Experiment: experiments/attention.yaml</summary>\n"
            "\n"
            "```yaml\n"
            "experiment: attention\n"
            "matrix:\n"
            "  seq_len: [128]\n"
            "  attention: [naive, flash]\n"
            "```\n"
            "\n"
            "</details>\n"
            "\n"
            "## Results\n");
}

TEST(Report, SaysWhichCasesWereInterleavedAndWhyOthersWereNot) {
  store::Run run = measured_run();
  EXPECT_EQ(report_of({&run}).find("interleaved"), std::string::npos);
  ASSERT_EQ(run.cases.size(), 6u);
  for (std::size_t i = 0; i < 4; ++i) {
    run.cases[i].facts.interleaved = {.as = "A",
                                      .passes = {{{"forward", {.block = i < 2 ? 1 : 5}}}}};
  }
  run.cases[4].facts.interleaved = {.apart = "a program of its own"};
  EXPECT_NE(report_of({&run}).find("- **interleaved**: 4 cases in blocks of 1 to 5 samples; "
                                   "1 apart (a program of its own)\n"),
            std::string::npos)
      << report_of({&run});
}

TEST(Report, ByDefaultHasATableAPlotAndFindings) {
  const store::Run run = measured_run();
  const std::string text = report_of({&run});
  const auto rows = cells_of(text);
  EXPECT_EQ(rows.at(0),
            (Cells{"seq_len", "attention", "forward time [ms]", "forward peak_memory [MiB]"}));
  EXPECT_EQ(rows.at(1), (Cells{"128", "naive", "1.00 ± 0.10", "10"}));
  EXPECT_NE(text.find("No plot: this report has no folder"), std::string::npos) << text;
  EXPECT_NE(text.find("## Findings\n\n- **flash is 4× faster than naive**, forward"),
            std::string::npos)
      << text;
}

// A figure imported without a deviation.
TEST(Report, ByDefaultAMeanStandsAloneWhereThereIsNoDeviation) {
  const store::Run run = run_of(
      "attention,pass,time.mean [ms],time.std [ms]\nnaive,forward,100,\nflash,forward,50,2\n");
  const std::string text = report_of({&run});
  const auto rows = cells_of(text);
  EXPECT_EQ(rows.at(1), (Cells{"naive", "100"})) << text;
  EXPECT_EQ(rows.at(2), (Cells{"flash", "50.0 ± 2.0"})) << text;
}

TEST(Report, ByDefaultOfSeveralRunsHasARowASource) {
  const store::Run a = measured_run(), b = measured_run();
  const std::string text = report_of({&a, &b});
  EXPECT_NE(text.find("### Source 1"), std::string::npos) << text;
  EXPECT_NE(text.find("|   source |   seq_len | attention   |"), std::string::npos) << text;
}

TEST(Report, OfARunWithoutResultsSaysSo) {
  store::Run run;
  run.info.name = run.info.experiment = "empty";
  store::CaseResult skipped;
  skipped.parameters["model"] = std::string("xl");
  skipped.outcome = Outcome::skipped;
  skipped.reason = "no GPU";
  run.cases.push_back(skipped);
  const std::string text = report_of({&run});
  EXPECT_NE(text.find("No case of this run has a result."), std::string::npos) << text;
  EXPECT_NE(text.find("- **skipped**: 1 of 1 results: no GPU."), std::string::npos) << text;
}

TEST(Report, WithoutARunIsAnError) { EXPECT_FALSE(build(Inputs())); }

TEST(Report, ForTheTerminalKeepsOnlyTables) {
  const store::Run run = measured_run();
  Inputs inputs;
  inputs.sources = {&run};
  inputs.spec = *yaml::parse(
      "- heading: Times\n- prose: Words.\n- table: {where: {attention: flash}, rows: [seq_len], "
      "columns: {ms: {metric: time, pass: forward, unit: ms}}}\n",
      "spec.yaml");
  EXPECT_EQ(to_terminal(*build(inputs), 0),
            "Times\n"
            "\n"
            "seq_len   ms\n"
            "    128  0.5\n"
            "    256  1\n"
            "    512  2\n");
}

TEST(Report, TellsEveryMistakeOfItsSpec) {
  const store::Run run = measured_run();
  const std::string text =
      report_of({&run}, "- table: {columns: {x: {metric: tiem, unit: s}}}\n- prose: [1]\n");
  EXPECT_NE(text.find("spec.yaml:1:"), std::string::npos) << text;
  EXPECT_NE(text.find("spec.yaml:2:"), std::string::npos) << text;
}

TEST(Report, KnowsMetricsThatTheRunLacks) {
  const store::Run run = measured_run();
  Inputs inputs;
  inputs.sources = {&run};
  inputs.with_context = false;
  inputs.metrics = {{"energy", "J", Direction::lower_is_better, ""}};
  inputs.spec = *yaml::parse(
      "- table: {where: {attention: flash}, rows: [seq_len], columns: {ms: {metric: time, pass: "
      "forward, unit: ms}, J: {metric: energy, unit: J}}}",
      "spec.yaml");
  const auto document = build(inputs);
  ASSERT_TRUE(document) << document.error().text();
  EXPECT_THAT(cells_of(*to_markdown(*document)), Contains(Cells{"128", "0.5", ""}));
}

TEST(Report, TenThousandSeriesAreOneTable) {
  std::string csv = "seq_len,batch,attention,pass,time.mean [ms]\n";
  for (int length = 1; length <= 500; ++length) {
    for (int batch = 1; batch <= 5; ++batch) {
      for (const char* attention : {"naive", "flash"}) {
        for (const char* pass : {"forward", "backward"}) {
          csv += fmt::format("{},{},{},{},{}\n", length, batch, attention, pass, length * batch);
        }
      }
    }
  }
  const std::string text = testing_support::markdown(csv, R"(
- table:
    rows: [seq_len, batch]
    pivot: {by: [pass, attention], metric: time, unit: ms, name: "{attention}_{pass}"}
)");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2504);
  EXPECT_NE(text.find("|       500 |       5 |"), std::string::npos);
}

}  // namespace
}  // namespace assay::report
