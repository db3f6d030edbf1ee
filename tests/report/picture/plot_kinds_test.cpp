#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plots.h"
#include "report/data/ceilings.h"
#include "report/picture/plot_script.h"

namespace assay::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::run_of;

bool lacks_gnuplot(const std::string& report) {
  return report.find("gnuplot is not installed") != std::string::npos;
}

// Nine samples with an outlier: the median is 1, the mean 2, its interval far above the median.
const char* const skewed =
    "seq_len,pass,time.samples [ms]\n128,forward,1 1 1 1 1 1 1 1 10\n"
    "256,forward,2 2 2 2 2 2 2 2 40\n";

TEST_F(Plots, BarsBelongToTheirPoint) {
  const char* const of_medians =
      "seq_len,line,forward time (median) [ms],low,high\n128,,1,1,1\n256,,2,2,2\n";
  const std::string plot = "- plot: {x: seq_len, y: {metric: time, pass: forward, unit: ms";
  rendered(skewed, plot + ", stat: median}, bars: interval}");
  EXPECT_EQ(data_of(folder_), of_medians);
  rendered(skewed, plot + ", stat: median}}");
  EXPECT_EQ(data_of(folder_), of_medians) << "by default";
  EXPECT_THAT(rendered(skewed, plot + ", stat: median}, bars: std}"),
              HasSubstr("bars of std do not belong to a median"));
  EXPECT_THAT(rendered(skewed, plot + ", stat: max}, bars: interval}"),
              HasSubstr("bars of interval do not belong to a max"));
  rendered(skewed, plot + ", stat: min}}");
  EXPECT_THAT(data_of(folder_), EndsWith("128,,1,1,1\n256,,2,2,2\n")) << "a minimum has none";
}

TEST_F(Plots, FailuresStandOnTheAxisWithTheirReasonBelow) {
  const std::string text = rendered(
      "seq_len,attention,pass,time.mean [ms],outcome,reason\n"
      "128,naive,forward,1,,\n256,naive,forward,,oom,8 GiB asked for\n"
      "128,flash,forward,1,,\n256,flash,forward,2,,\n512,flash,forward,,skipped,too long\n",
      "- plot: {x: seq_len, y: {metric: time, pass: forward}, series: [attention]}");
  EXPECT_EQ(data_of(folder_),
            "seq_len,line,forward time [ms],low,high,note\n"
            "128,naive,1,1,1,\n256,naive,,,,OOM\n128,flash,1,1,1,\n256,flash,2,2,2,\n");
  EXPECT_THAT(text, HasSubstr("- **OOM** (naive at seq_len 256): 8 GiB asked for\n"));
  if (lacks_gnuplot(text)) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_THAT(*read_file((folder_ / "plot-1.svg").string()), HasSubstr(">OOM<"));
}

TEST_F(Plots, OfFailuresAloneSayWhy) {
  const std::string text =
      rendered("seq_len,pass,time.mean [ms],outcome,reason\n128,forward,,wrong,off by 3\n",
               "- plot: {x: seq_len, y: {metric: time, pass: forward}}");
  EXPECT_EQ(text, "No result matches this plot.\n\n- **WRONG** (seq_len 128): off by 3\n");
}

TEST_F(Plots, OfMoreLinesThanCanBeToldApartAreNotDrawn) {
  std::string csv = "seq_len,repeat,pass,time.mean [ms]\n";
  for (int i = 0; i < 101; ++i) csv += "128," + std::to_string(i) + ",forward,1\n";
  EXPECT_EQ(
      rendered(csv, "- plot: {x: seq_len, y: {metric: time, pass: forward}, series: [repeat]}"),
      "No plot: it would have 101 lines, of which at most 100 can be told apart; `where` "
      "chooses some, `for_each` gives each value a plot.\n");
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(Plots, MarkedPointsStandInARing) {
  store::Run run = run_of(
      "seq_len,pass,time.samples [ms]\n128,forward,1 1 1\n256,forward,2 2 2\n512,forward,4 4 4\n");
  for (store::CaseResult& result : run.cases) result.series[0].clock = "wall";
  run.cases[1].facts.marks = {{"throttled", "", "held down"}};
  run.cases[2].facts.marks = {{"wide", "forward", "known to ± 9 %"}};
  const std::string text = rendered(run, "- plot: {x: seq_len, y: {metric: time, pass: forward}}");
  EXPECT_EQ(data_of(folder_),
            "seq_len,line,forward time (median) [ms],low,high,note\n"
            "128,,1,1,1,\n256,,2,2,2,throttled\n512,,4,4,4,\n")
      << "the bar of the last says how wide it is";
  if (lacks_gnuplot(text)) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_THAT(text, HasSubstr("## Data quality\n\n- **† throttled** (1 of 3 results"));
  EXPECT_THAT(*read_file((folder_ / "plot-1.svg").string()), HasSubstr("† throttled"));
}

TEST_F(Plots, OverNamesTheyAreGroupedBars) {
  const std::string csv =
      "model,attention,pass,time.mean [ms]\nsmall,naive,forward,1\nsmall,flash,forward,2\n"
      "xl,naive,forward,3\nxl,flash,forward,4\n";
  rendered(csv, "- plot: {x: model, y: {metric: time, pass: forward}, series: [attention]}");
  EXPECT_EQ(data_of(folder_),
            "model,line,forward time [ms],low,high\n"
            "small,naive,1,1,1\nxl,naive,3,3,3\nsmall,flash,2,2,2\nxl,flash,4,4,4\n");
  PlotData data;
  data.x_categories = {"small", "xl"};
  data.form = PlotForm::bars;
  data.lines = {{"naive", {{0, 1, 1, 1}, {1, 3, 2, 4}}}, {"flash", {{0, 2, 2, 2}}}};
  const std::string script = gnuplot_script(data, "o.svg");
  EXPECT_THAT(script, HasSubstr("with boxerrorbars"));
  EXPECT_THAT(script, HasSubstr("$line0 << EOD\n-0.15 1 1 1\n0.85 3 2 4\n"));
  EXPECT_THAT(script, HasSubstr("$line1 << EOD\n0.15 2 2 2\n"));
  EXPECT_THAT(script, HasSubstr("set yrange [0:4.2]"));
}

// Quartiles 2 and 4: the whiskers end within 1.5 · 2 beside them, 20 lies beyond.
TEST_F(Plots, BoxesShowTheRawSamples) {
  const std::string text =
      rendered("seq_len,pass,time.samples [ms]\n128,forward,1 2 3 4 20\n256,forward,2 2 2\n",
               "- plot: {kind: box, x: seq_len, y: {metric: time, pass: forward}, scale: log-x}");
  EXPECT_EQ(data_of(folder_),
            "seq_len,line,forward time [ms]: low,q1,median,q3,high,outliers\n"
            "128,,1,2,3,4,4,20\n256,,2,2,2,2,2,\n");
  if (lacks_gnuplot(text)) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_THAT(text, HasSubstr("](plot-1.svg)"));
}

Ceilings machine() {
  Ceilings ceilings;
  ceilings.add(
      run_of("workload,device,size,pass,time.samples [ms],bytes.value [GB]\n"
             "copy,cuda,1,copy,1,2\n"));  // 2 TB/s
  ceilings.add(
      run_of("workload,device,dtype,m,pass,time.samples [ms],flops.value [GFLOP]\n"
             "matmul,cuda,bf16,1,matmul,1,100\n"));  // 100 TFLOP/s
  return ceilings;
}

const char* const counted =
    "workload,device,precision,attention,pass,time.samples [ms],flops.value [GFLOP],bytes.value "
    "[GB]\nattention,cuda,bf16,naive,forward,2,20,2\nattention,cuda,bf16,flash,forward,1,20,0.1\n";

TEST_F(Plots, ARooflineIsARateOverTheWorkOfAByte) {
  const Ceilings ceilings = machine();
  const std::string text =
      rendered(run_of(counted),
               "- plot: {kind: roofline, y: {rate: flops, pass: forward, unit: TFLOP/s}, series: "
               "[attention], title: Roofline}",
               &ceilings);
  EXPECT_EQ(data_of(folder_),
            "intensity [FLOP/byte],line,achieved [TFLOP/s],low,high\n"
            "10,naive,10,10,10\n200,flash,20,20,20\n");
  if (lacks_gnuplot(text)) GTEST_SKIP() << "gnuplot is not installed";
  const std::string svg = *read_file((folder_ / "plot-1.svg").string());
  EXPECT_THAT(svg, HasSubstr("copy 2 TB/s, matmul_bf16 100 TFLOP/s"));
}

TEST_F(Plots, ByDefaultAreOneAPassWithATitleAndLogarithmicOverPowersOfTwo) {
  const store::Run run = run_of(
      "seq_len,pass,time.samples [ms]\n128,forward,1 1 1\n256,forward,2 2 2\n512,forward,4 4 4\n"
      "128,backward,3 3 3\n256,backward,6 6 6\n512,backward,9 9 9\n");
  Inputs inputs;
  inputs.sources = {&run};
  inputs.with_context = false;
  inputs.folder = folder_;
  const std::string text = *to_markdown(*build(inputs));
  if (lacks_gnuplot(text)) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_THAT(text, HasSubstr("![forward time over seq_len](plot-1.svg)\n\n"
                              "![backward time over seq_len](plot-2.svg)\n"));
  const std::string svg = *read_file((folder_ / "plot-1.svg").string());
  EXPECT_THAT(svg, HasSubstr("forward time over seq_len"));
  EXPECT_THAT(svg, HasSubstr(">2<"));
  EXPECT_THAT(svg, Not(HasSubstr(">0<"))) << "a linear axis begins there";
}

TEST_F(Plots, ByDefaultOverNamesWhereNoNumberVaries) {
  const store::Run run =
      run_of("attention,pass,time.samples [ms]\nnaive,forward,2 2 2\nflash,forward,1 1 1\n");
  Inputs inputs;
  inputs.sources = {&run};
  inputs.with_context = false;
  inputs.folder = folder_;
  const std::string text = *to_markdown(*build(inputs));
  EXPECT_EQ(data_of(folder_),
            "attention,line,time (median) [ms],low,high\nnaive,,2,2,2\nflash,,1,1,1\n")
      << text;
}

TEST_F(Plots, ARooflineNeedsARateOfOperations) {
  EXPECT_THAT(rendered(run_of(counted), "- plot: {kind: roofline, y: {metric: time}}"),
              HasSubstr("a roofline shows a rate of flops"));
}

}  // namespace
}  // namespace assay::report
