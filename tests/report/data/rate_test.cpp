// Rates and their shares of ceilings, with values worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "rendering.h"
#include "report/data/ceilings.h"

namespace assay::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::cells_of;
using testing_support::markdown;
using testing_support::Rows;
using testing_support::run_of;
using testing_support::shown;
using testing_support::Shown;

// 6 GFLOP in 2 and 4 ms: 3 and 1.5 TFLOP/s; 2 TFLOP/s by the mean time of 3 ms.
const std::string two_samples =
    "workload,precision,device,pass,time.samples [ms],flops.value [GFLOP],bytes.value [MB]\n"
    "attention,bf16,cuda,forward,2 4,6,30\n";

std::string column(const std::string& text) {
  return "- table:\n    rows: [precision]\n    columns:\n      x: " + text +
         "\n    formulas: false\n";
}

// The one cell of a table beside its row's name.
std::string cell(const std::string& csv, const std::string& text) {
  const std::string table = markdown(csv, column(text));
  const Rows rows = cells_of(table);
  return rows.size() == 2 && rows[1].front() == "bf16" ? rows[1].back() : table;
}

TEST(Rate, IsTheCountByTheTime) {
  EXPECT_EQ(cell(two_samples, "{rate: flops, unit: TFLOP/s}"), "2.00");
  EXPECT_EQ(cell(two_samples, "{rate: bytes, unit: GB/s}"), "10.0");
  EXPECT_EQ(cell(two_samples, "{rate: flops, pass: forward, unit: GFLOP/s}"), "2000");
}

TEST(Rate, TurnsTheOrderOfTimesRound) {
  EXPECT_EQ(cell(two_samples, "{rate: flops, stat: max, unit: TFLOP/s}"), "3");
  EXPECT_EQ(cell(two_samples, "{rate: flops, stat: min, unit: TFLOP/s}"), "1.5");
  EXPECT_EQ(cell(two_samples, "{rate: flops, stat: median, unit: TFLOP/s}"), "2.00");
  // The 5th percentile of the time is 2.1 ms.
  EXPECT_EQ(cell(two_samples, "{rate: flops, stat: p95, unit: TFLOP/s}"), "2.857");
  EXPECT_EQ(cell(two_samples, "{rate: flops, stat: samples, unit: TFLOP/s}"), "[3, 1.5]");
  EXPECT_EQ(cell(two_samples, "{rate: flops, stat: n}"), "2");
}

// A hundredth from the end of 1 to 101 ms lies 100 ms; rates have no such statistic.
TEST(Statistics, HaveThe99thPercentile) {
  std::string samples;
  for (int ms = 1; ms <= 101; ++ms) samples += std::to_string(ms) + " ";
  const std::string csv = "size,pass,time.samples [ms]\n1,send," + samples + "\n";
  EXPECT_THAT(testing_support::markdown(
                  csv,
                  "- table: {rows: [size], columns: {p99: {metric: time, stat: p99, unit: "
                  "ms}}}"),
              ::testing::HasSubstr("|      1 |   100 |"));
}

// 3 and 1.5 lie 0.75 from their mean.
TEST(Rate, SpreadIsThatOfTheSamplesRates) {
  EXPECT_EQ(cell(two_samples, "{rate: flops, stat: std_population, unit: TFLOP/s}"), "0.75");
  EXPECT_EQ(cell(two_samples, "{rate: flops, stat: [mean, std_population], unit: TFLOP/s}"),
            "2.00 ± 0.75");
}

TEST(Rate, WorksOnImportedStatistics) {
  EXPECT_EQ(cell("precision,pass,time.mean [ms],flops.value [GFLOP]\nbf16,forward,3,6\n",
                 "{rate: flops, unit: TFLOP/s}"),
            "2");
}

TEST(Rate, CountsEveryCallOfASample) {
  const std::string ten_calls =
      "precision,measure.calls_per_sample,pass,time.samples [ms],flops.value [GFLOP]\n"
      "bf16,10,forward,30,6\n";
  EXPECT_EQ(cell(ten_calls, "{rate: flops, unit: TFLOP/s}"), "2");
  EXPECT_THAT(markdown(ten_calls,
                       "- table:\n    columns:\n      precision: {axis: precision}\n"
                       "      speed: {rate: flops, unit: TFLOP/s}\n"),
              HasSubstr("- **speed** = flops * 10 calls / median time\n"));
}

// The ranks take 1 and 3, then 5 and 1 ms: the slowest 3 and 5, on average 4.
TEST(Rate, OfRanksIsThatOfOneAtTheSlowestTime) {
  EXPECT_EQ(cell("precision,pass,rank,time.samples [ms],flops.value [GFLOP]\n"
                 "bf16,forward,0,1 5,8\nbf16,forward,1,3 1,8\n",
                 "{rate: flops, unit: TFLOP/s}"),
            "2.00");
}

TEST(Rate, IsTakenOfTheSamePass) {
  EXPECT_EQ(shown(markdown(
                "pass,time.mean [ms],flops.value [GFLOP]\nforward,1,2\nbackward,2,8\n",
                "- table:\n    rows: [pass]\n    columns: {x: {rate: flops, unit: TFLOP/s}}\n")),
            (Shown{{{"pass", "x"}, {"forward", "2"}, {"backward", "4"}},
                   {"- **x** in TFLOP/s", "- **x** = flops / time"}}));
}

TEST(Rate, CanBeComparedCalculatedWithAndSpread) {
  const std::string two =
      "attention,pass,time.mean [ms],flops.value [GFLOP]\nnaive,forward,4,8\nflash,forward,1,8\n";
  EXPECT_EQ(shown(markdown(two, R"(
- table:
    rows: [attention]
    formulas: false
    columns:
      gain: {rate: flops, relative_to: {attention: naive}, format: "{:.1f}x"}
      rate: {rate: flops, unit: TFLOP/s, show: false}
      half: {expr: "rate / 2", unit: TFLOP/s}
)")),
            (Shown{{{"attention", "gain", "half"}, {"naive", "1.0x", "1"}, {"flash", "4.0x", "4"}},
                   {"- **half** in TFLOP/s"}}));
  EXPECT_EQ(shown(markdown(two, R"(
- table:
    rows: [pass]
    pivot: {by: [attention], rate: flops, unit: TFLOP/s}
)")),
            (Shown{{{"pass", "naive", "flash"}, {"forward", "2", "8"}},
                   {"- **naive, flash** in TFLOP/s", "- **naive, flash** = flops / time"}}));
}

TEST(Rate, WithoutACountIsNotAvailable) {
  EXPECT_EQ(
      shown(markdown(
          "workload,n_cols,pass,time.mean [ms],bytes.value [MB],flops.value [GFLOP]\n"
          "norm,8,forward,1,5,\nmatmul,16,forward,1,,3\n",
          "- table:\n    rows: [n_cols]\n    columns: {x: {rate: flops, unit: TFLOP/s}}\n")),
      (Shown{{{"n_cols", "x"}, {"8", "N/A"}, {"16", "3"}},
             {"- **x** in TFLOP/s", "- **x** = flops / time",
              "- **N/A** (1 cell: n_cols 8): flops are not counted in pass forward of norm"}}));
}

TEST(Rate, OfAFailureIsItsOutcome) {
  const std::string table = markdown(
      "n,pass,time.mean [ms],flops.value [GFLOP],outcome,reason\n1,forward,1,2,,\n"
      "2,forward,,,oom,too large\n",
      "- table:\n    rows: [n]\n    columns: {x: {rate: flops, unit: TFLOP/s}}\n");
  EXPECT_THAT(table, HasSubstr("OOM"));
  EXPECT_THAT(table, HasSubstr("too large"));
}

std::string refused(const std::string& text) {
  const store::Run run = run_of(two_samples);
  const auto document = testing_support::built({&run}, column(text));
  return document ? "accepted" : document.error().text();
}

TEST(Rate, IsCheckedWhenItIsRead) {
  EXPECT_THAT(refused("{rate: flops, unit: GB/s}"),
              HasSubstr("spec.yaml:4:30: flops / time is measured in FLOP/s, which 'GB/s' cannot "
                        "show; units for it: FLOP/s, GFLOP/s, TFLOP/s, PFLOP/s"));
  EXPECT_THAT(refused("{rate: flops, format: g6}"),
              HasSubstr("spec.yaml:4:10: 'x' shows flops / time without naming a unit"));
  EXPECT_THAT(refused("{rate: time, unit: s}"),
              HasSubstr("spec.yaml:4:17: time is measured in s, not counted: it has no rate; "
                        "counted: "));
  EXPECT_THAT(refused("{rate: flop, unit: TFLOP/s}"), HasSubstr("metric 'flop' does not exist"));
  EXPECT_THAT(refused("{rate: flops, stat: sum, unit: TFLOP/s}"),
              HasSubstr("spec.yaml:4:30: a rate has no 'sum'; it has: mean, median"));
  EXPECT_THAT(refused("{metric: time, unit: ms, share_of: copy}"),
              HasSubstr("spec.yaml:4:45: share_of belongs to a rate"));
  EXPECT_THAT(refused("{metric: time, rate: flops}"), HasSubstr("must show one thing"));
}

TEST(Share, IsCheckedWhenItIsRead) {
  EXPECT_THAT(refused("{rate: flops, share_of: copy}"),
              HasSubstr("spec.yaml:4:34: flops / time is in FLOP/s, which the ceiling 'copy' is "
                        "not; known: auto, matmul, matmul_fp64"));
  EXPECT_THAT(refused("{rate: flops, share_of: matmul_bf61}"),
              HasSubstr("ceiling 'matmul_bf61' does not exist; did you mean 'matmul_bf16'?"));
  EXPECT_THAT(refused("{rate: flops, share_of: auto, unit: TFLOP/s}"),
              HasSubstr("a share is measured in plain numbers, which 'TFLOP/s' cannot show"));
}

store::Run matmul_calibration(const std::string& name = "calibrate_matmul-1") {
  // bf16: 2 GFLOP in 4 ms and 16 in 4, medians: 0.5 and 4 TFLOP/s. fp32: 1 TFLOP/s.
  return run_of(
      "workload,device,dtype,m,pass,time.samples [ms],flops.value [GFLOP]\n"
      "matmul,cuda,bf16,1000,matmul,3 4 9,2\nmatmul,cuda,bf16,2000,matmul,4 4 4,16\n"
      "matmul,cuda,fp32,1000,matmul,2 2 2,2\n",
      name);
}

store::Run copy_calibration() {
  // 10 GB/s and 40 GB/s.
  return run_of(
      "workload,device,size,pass,time.samples [ms],bytes.value [MB]\n"
      "copy,cuda,1048576,copy,1 1 1,10\ncopy,cuda,1073741824,copy,2 1 3,80\n",
      "calibrate_copy-4");
}

Ceilings ceilings_of(const std::vector<store::Run>& runs) {
  Ceilings ceilings;
  for (const store::Run& run : runs) ceilings.add(run);
  return ceilings;
}

std::string with_ceilings(const std::string& csv, const std::vector<store::Run>& calibrations,
                          const std::string& yaml) {
  const store::Run run = run_of(csv);
  Inputs inputs;
  inputs.sources = {&run};
  inputs.with_context = false;
  inputs.spec = *yaml::parse(yaml, "spec.yaml");
  inputs.ceilings = [&](const store::Run&) { return ceilings_of(calibrations); };
  const auto document = build(inputs);
  return document ? *to_markdown(*document) : "ERROR " + document.error().text();
}

TEST(CeilingsOfRuns, AreTheBestMedians) {
  const Ceilings ceilings = ceilings_of({matmul_calibration(), copy_calibration()});
  ASSERT_EQ(ceilings.all().size(), 3u);
  const Ceiling* bf16 = ceilings.find("matmul_bf16", {{"device", std::string("cuda")}});
  ASSERT_NE(bf16, nullptr);
  EXPECT_DOUBLE_EQ(bf16->value, 4e12);
  EXPECT_EQ(bf16->unit, "FLOP/s");
  EXPECT_EQ(value_with_unit(*bf16), "4 TFLOP/s");
  EXPECT_EQ(bf16->formula, "flops / median time, best of 2: m 2000");
  EXPECT_EQ(bf16->run, "calibrate_matmul-1");
  const Ceiling* copy = ceilings.find("copy", {});
  ASSERT_NE(copy, nullptr);
  EXPECT_DOUBLE_EQ(copy->value, 4e10);
  EXPECT_EQ(copy->formula, "bytes / median time, best of 2: size 1.00 GiB");
  EXPECT_EQ(ceilings.find("copy", {{"device", std::string("cpu")}}), nullptr);
  EXPECT_EQ(ceilings.find("matmul_fp16", {}), nullptr);
}

TEST(CeilingsOfRuns, TheNewestCountsAndOlderOnesFillIn) {
  const store::Run newer = run_of(
      "workload,device,dtype,m,pass,time.samples [ms],flops.value [GFLOP]\n"
      "matmul,cuda,bf16,1000,matmul,1,3\n",
      "calibrate_matmul-2");
  const Ceilings ceilings = ceilings_of({newer, matmul_calibration()});
  EXPECT_DOUBLE_EQ(ceilings.find("matmul_bf16", {})->value, 3e12);
  EXPECT_EQ(ceilings.find("matmul_bf16", {})->formula, "flops / median time");
  EXPECT_EQ(ceilings.find("matmul_fp32", {})->run, "calibrate_matmul-1");
}

// A batch of 1000 launches in 2.5 ms takes 2.5 us each; a single launch takes 7 us, its latency.
TEST(CeilingsOfRuns, OfLaunchesTheLatencyAndTheTimeOfManyInARow) {
  const Ceilings ceilings = ceilings_of(
      {run_of("workload,device,operation,launches,pass,time.samples [us],launches.value [count]\n"
              "launch,cuda,kernel,1,launch,7,1\nlaunch,cuda,kernel,1000,launch,2500,1000\n",
              "calibrate_launch-1")});
  ASSERT_EQ(ceilings.all().size(), 2u);
  EXPECT_EQ(ceilings.all()[0].name, "launch_kernel");
  EXPECT_DOUBLE_EQ(ceilings.all()[0].value, 7e-6);
  EXPECT_EQ(ceilings.all()[1].name, "launch_kernel_in_a_row");
  EXPECT_DOUBLE_EQ(ceilings.all()[1].value, 2.5e-6);
  EXPECT_EQ(value_with_unit(ceilings.all()[1]), "2.5 us");
  EXPECT_EQ(ceilings.all()[1].formula, "median time / launches");
}

TEST(CeilingsOfRuns, WhatFailedOrHasNoCountIsNone) {
  EXPECT_TRUE(ceilings_of({run_of("workload,device,size,pass,time.samples [ms],bytes.value [MB],"
                                  "outcome,reason\n"
                                  "copy,cuda,1,copy,,,oom,too large\ncopy,cuda,2,copy,3,,,\n")})
                  .empty());
}

TEST(Share, APrecisionsProductsAreOfTheDtypeBeforeItsUnderscore) {
  const auto meant = [](const char* precision) {
    return ceiling_meant("matmul", "flops", "train_step", {{"precision", std::string(precision)}});
  };
  EXPECT_EQ(meant("bf16_master"), "matmul_bf16");
  EXPECT_EQ(meant("fp16_master"), "matmul_fp16");
  EXPECT_EQ(meant("mine_bf16"), std::nullopt);
}

TEST(Share, OfTheCeilingOfTheCasesPrecision) {
  // 2 TFLOP/s of 4, 10 GB/s of 40.
  EXPECT_EQ(
      shown(with_ceilings(two_samples, {matmul_calibration(), copy_calibration()}, R"(
- table:
    rows: [precision]
    columns:
      of_products: {rate: flops, share_of: auto, unit: "%"}
      named: {rate: flops, share_of: matmul_fp32, format: "{:.1f}"}
      of_copy: {rate: bytes, share_of: auto, format: "{:.2f}"}
)")),
      (Shown{
          {{"precision", "of_products", "named", "of_copy"}, {"bf16", "50", "2.0", "0.25"}},
          {"- **of_products** in %",
           "- **of_products** = flops / median time / 4 TFLOP/s: matmul_bf16 of calibrate_matmul-1 "
           "(flops / median time, best of 2: m 2000)",
           "- **named** = flops / median time / 1 TFLOP/s: matmul_fp32 of calibrate_matmul-1 "
           "(flops / "
           "median time)",
           "- **of_copy** = bytes / median time / 40 GB/s: copy of calibrate_copy-4 (bytes / "
           "median "
           "time, best of 2: size 1.00 GiB)"}}));
}

const std::string share =
    "- table:\n    rows: [precision]\n    columns: {x: {rate: flops, "
    "share_of: auto}}\n";

TEST(Share, WithoutACalibrationIsNotAvailable) {
  const std::string reason =
      "| precision   | x   |\n"
      "|:------------|:----|\n"
      "| bf16        | N/A |\n\n"
      "- **N/A** (1 cell: precision bf16): no calibration of this machine is known; `assay "
      "calibrate` makes one\n";
  EXPECT_EQ(markdown(two_samples, share), reason);
  EXPECT_EQ(with_ceilings(two_samples, {}, share), reason);
}

TEST(Share, SaysWhichCeilingIsLacking) {
  EXPECT_THAT(with_ceilings(two_samples, {copy_calibration()}, share),
              HasSubstr("no calibration of this machine has measured matmul_bf16 on cuda; `assay "
                        "calibrate matmul --device cuda` does\n"));
  EXPECT_THAT(
      with_ceilings(
          "precision,device,pass,time.mean [ms],flops.value [GFLOP]\nmine,cuda,forward,1,1\n",
          {matmul_calibration()}, share),
      HasSubstr(
          "precision 'mine' names no dtype; name the ceiling, such as share_of: matmul_bf16"));
  EXPECT_THAT(
      with_ceilings(
          "precision,device,pass,time.mean [ms],flops.value [GFLOP]\nbf16,cpu,forward,1,1\n",
          {matmul_calibration()}, share),
      HasSubstr("has measured matmul_bf16 on cpu"));
}

// 2 ranks reach 0.5 of 1 GB/s over NCCL. 4 ranks and Gloo have ceilings of their own.
TEST(Share, OfCollectivesIsOfThoseRanksAndThatBackend) {
  const store::Run calibration = run_of(
      "workload,device,backend,world_size,size,pass,time.samples [ms],bus_bytes.value [MB]\n"
      "collective,cuda,nccl,2,1048576,all_reduce,1,1\ncollective,cuda,nccl,2,4096,all_reduce,1,0."
      "1\n",
      "calibrate_all_reduce-1");
  const std::string cases =
      "workload,device,backend,world_size,pass,time.mean [ms],bus_bytes.value [MB]\n"
      "collective,cuda,nccl,2,all_reduce,2,1\ncollective,cuda,nccl,4,all_reduce,2,1\n"
      "collective,cuda,gloo,2,all_reduce,2,1\n";
  EXPECT_EQ(shown(with_ceilings(cases, {calibration}, R"(
- table:
    rows: [backend, world_size]
    columns: {x: {rate: bus_bytes, share_of: auto, unit: "%"}}
)")),
            (Shown{{{"backend", "world_size", "x"},
                    {"nccl", "2", "50"},
                    {"nccl", "4", "N/A"},
                    {"gloo", "2", "N/A"}},
                   {"- **x** in %",
                    "- **x** = bus_bytes / time / 1 GB/s: all_reduce of calibrate_all_reduce-1 "
                    "(bus_bytes / median time, best of 2: size 1.00 MiB)",
                    "- **N/A** (1 cell: backend nccl, world_size 4): no calibration of this "
                    "machine has measured all_reduce of 4 ranks over nccl; `assay calibrate "
                    "all_reduce --set world_size=4 --set backend=nccl` does",
                    "- **N/A** (1 cell: backend gloo, world_size 2): no calibration of this "
                    "machine has measured all_reduce of 2 ranks over gloo; `assay calibrate "
                    "all_reduce --set world_size=2 --set backend=gloo` does"}}));
}

TEST(Share, NeverAsksForCeilingsThatNothingIsAShareOf) {
  const store::Run run = run_of(two_samples);
  Inputs inputs;
  inputs.sources = {&run};
  inputs.with_context = false;
  int asked = 0;
  inputs.ceilings = [&](const store::Run&) {
    ++asked;
    return Ceilings();
  };
  inputs.spec = *yaml::parse(column("{rate: flops, unit: TFLOP/s}"), "spec.yaml");
  ASSERT_TRUE(build(inputs));
  EXPECT_EQ(asked, 0);
  inputs.spec = *yaml::parse(share, "spec.yaml");
  ASSERT_TRUE(build(inputs));
  EXPECT_EQ(asked, 1);
}

std::string shipped(const std::string& name) {
  return *read_file(ASSAY_SOURCE_DIR "/configs/layouts/ceilings/" + name + ".yaml");
}

// The last three cells of a table: time, rate and share.
std::vector<std::string> row_of_figures(const std::string& report) {
  const std::vector<std::string> row = cells_of(report).back();
  return {row.end() - std::min<std::ptrdiff_t>(3, std::ssize(row)), row.end()};
}

// 4 TFLOP/s: 2 are 50 %. 40 GB/s: 10 are 25 %.
TEST(Share, IsWhatTheShippedLayoutsShow) {
  const std::string arithmetic =
      with_ceilings(two_samples, {matmul_calibration()}, shipped("arithmetic_share"));
  EXPECT_THAT(arithmetic, HasSubstr("### forward\n"));
  EXPECT_THAT(row_of_figures(arithmetic), ElementsAre("3.000", "2.00", "50.0"));
  const std::string bandwidth =
      with_ceilings(two_samples, {copy_calibration()}, shipped("bandwidth_share"));
  EXPECT_THAT(row_of_figures(bandwidth), ElementsAre("3.000", "10.0", "25.0"));
}

TEST(Share, FormulasCanBeLeftOut) {
  const std::string table =
      with_ceilings(two_samples, {matmul_calibration()}, share + "    formulas: false\n");
  EXPECT_THAT(table, Not(HasSubstr("calibrate_matmul-1")));
  EXPECT_THAT(table, HasSubstr("0.5"));
}

}  // namespace
}  // namespace assay::report
