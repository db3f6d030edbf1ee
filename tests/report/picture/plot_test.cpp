#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/text.h"
#include "plots.h"
#include "report/picture/gnuplot.h"
#include "report/picture/plot_script.h"

namespace assay::report {
namespace {

PlotData two_lines() {
  PlotData data;
  data.title = "it's a plot";
  data.x_label = "seq_len";
  data.y_label = "time [ms]";
  data.log_x = data.log_y = true;
  data.lines = {{"naive", {{128, 1, 0.5, 1.5}, {256, 4, 3, 5}}},
                {"flash", {{128, 2, 2, 2}, {256, 3, 3, 3}}}};
  return data;
}

TEST(Script, HasAxesLinesAndBars) {
  const std::string script = gnuplot_script(two_lines(), "out.svg");
  EXPECT_NE(script.find("set title 'it''s a plot'"), std::string::npos);
  EXPECT_NE(script.find(
                "set logscale x\nset xrange [102.4:320]\nset logscale y\nset yrange [0.4:6.25]\n"),
            std::string::npos)
      << script;
  EXPECT_NE(script.find("set xtics ('128' 128, '256' 256)"), std::string::npos) << script;
  EXPECT_NE(script.find("using 1:2:3:4 with yerrorlines lw 2 lc rgb '#0072B2' pt 7 ps 0.7 notitle"),
            std::string::npos);
  EXPECT_NE(script.find("using 1:2 with linespoints"), std::string::npos);
  EXPECT_NE(script.find("128 1 0.5 1.5\n"), std::string::npos);
}

TEST(Script, NamesLinesAtTheirEndsWhereTheNamesFit) {
  EXPECT_NE(gnuplot_script(two_lines(), "o.svg").find("set label 'flash' at first 256, first 3"),
            std::string::npos);
  EXPECT_NE(gnuplot_script(two_lines(), "o.svg").find("set key off"), std::string::npos);
  PlotData close = two_lines();
  close.lines[1].points[1].y = 3.95;
  const std::string script = gnuplot_script(close, "o.svg");
  EXPECT_EQ(script.find("set label"), std::string::npos) << script;
  EXPECT_NE(script.find("title 'flash'"), std::string::npos) << script;
}

TEST(Script, LeavesOutWhatALogAxisCannotShow) {
  PlotData data = two_lines();
  data.lines = {{"a", {{0, 1, 1, 1}, {1, 5, -1, 6}, {2, 0, 0, 0}}}};
  const std::string script = gnuplot_script(data, "out.svg");
  EXPECT_EQ(script.find("\n0 1 "), std::string::npos);
  EXPECT_EQ(script.find("\n2 0 "), std::string::npos);
  EXPECT_NE(script.find("\n1 5 5e-09 6\n"), std::string::npos) << "a bar runs out of the picture";
  EXPECT_NE(script.find("set yrange [4:7.5]\n"), std::string::npos) << script;
}

TEST(Script, CategoriesAreNamed) {
  PlotData data = two_lines();
  data.x_categories = {"small", "xl"};
  data.log_x = false;
  EXPECT_NE(
      gnuplot_script(data, "o.svg").find("set xtics ('small' 0, 'xl' 1)\nset xrange [-0.5:1.5]"),
      std::string::npos);
}

TEST(Data, IsWrittenAsCsv) {
  EXPECT_EQ(plot_csv(two_lines()),
            "seq_len,line,time [ms],low,high\n"
            "128,naive,1,0.5,1.5\n256,naive,4,3,5\n128,flash,2,2,2\n256,flash,3,3,3\n");
}

const char* const lengths =
    "seq_len,attention,pass,time.mean [ms],time.std [ms]\n"
    "128,naive,forward,1,0.1\n128,flash,forward,2,0.1\n256,naive,forward,4,0.2\n256,flash,forward,"
    "3,0.2\n";

TEST_F(Plots, ArePicturesWithTheirData) {
  const std::string text = rendered(lengths,
                                    "- plot: {x: seq_len, y: {metric: time, pass: forward}, "
                                    "series: [attention], scale: log-log}");
  if (text.find("gnuplot is not installed") != std::string::npos)
    GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_EQ(text, "![forward time [ms] over seq_len](plot-1.svg)\n");
  const auto svg = read_file((folder_ / "plot-1.svg").string());
  ASSERT_TRUE(svg);
  for (const char* shown : {"naive", "flash", "forward time [ms]", "seq_len", ">128<", ">256<"}) {
    EXPECT_NE(svg->find(shown), std::string::npos) << shown;
  }
  EXPECT_EQ(*read_file((folder_ / "plot-1.csv").string()),
            "seq_len,line,forward time [ms],low,high\n"
            "128,naive,1,0.9,1.1\n256,naive,4,3.8,4.2\n128,flash,2,1.9,2.1\n256,flash,3,2.8,3.2\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "plot-1.gnuplot"));
}

TEST_F(Plots, LabelsAreNeverCommands) {
  const auto touched = folder_ / "touched";
  const std::string command = "touch " + touched.string();
  const std::string axis = "x'; system(\"" + command + "\"); y='`" + command + "`@m\\";
  PlotData data = two_lines();
  data.lines = {{"", {{0, 1, 0.5, 1.5}, {1, 4, 3, 5}}}};
  data.title = data.x_label = data.y_label = data.lines[0].name = axis + "\n!" + command;
  data.x_categories = {axis, "\n" + axis};
  data.log_x = false;
  std::filesystem::create_directories(folder_);
  const auto svg = folder_ / "it's; a `touch`.svg";
  const auto drawn = draw(gnuplot_script(data, svg), svg);
  if (!drawn && drawn.error().text().find("not installed") != std::string::npos)
    GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_TRUE(drawn) << drawn.error().text();
  EXPECT_FALSE(std::filesystem::exists(touched));
  EXPECT_TRUE(std::filesystem::exists(svg));
}

// gnuplot reads '' at the beginning of a text as its end.
TEST_F(Plots, ALabelMayBeginWithApostrophes) {
  for (const std::string name : {"'", "''", "'quoted'", "'''three", "'tis 100%", "it's"}) {
    PlotData data = two_lines();
    data.title = data.x_label = data.lines[0].name = name;
    data.x_categories = {name, "xl"};
    std::filesystem::create_directories(folder_);
    const auto svg = folder_ / "apostrophe.svg";
    const auto drawn = draw(gnuplot_script(data, svg), svg);
    if (!drawn && drawn.error().text().find("not installed") != std::string::npos) {
      GTEST_SKIP() << "gnuplot is not installed";
    }
    ASSERT_TRUE(drawn) << name << ": " << drawn.error().text();
    const std::string picture = read_file(svg.string()).value();
    EXPECT_TRUE(picture.ends_with("</svg>\n\n") || picture.ends_with("</svg>\n")) << name;
    std::string shown = name;
    for (std::size_t at = 0; (at = shown.find('\'', at)) != std::string::npos; at += 5) {
      shown.replace(at, 1, "&#39;");
    }
    EXPECT_TRUE(picture.find(">" + shown + "<") != std::string::npos ||
                picture.find(">" + name + "<") != std::string::npos)
        << name;
  }
}

TEST_F(Plots, APictureThatFailsLeavesNoHalfOfIt) {
  std::filesystem::create_directories(folder_);
  const auto svg = folder_ / "half.svg";
  const auto drawn = draw(script_opening(svg, 300, 200) + "plot x\nplot nonsense(\n", svg);
  EXPECT_FALSE(drawn);
  EXPECT_FALSE(std::filesystem::exists(svg));
}

TEST_F(Plots, AreTheSameForTheSameData) {
  const char* const spec = "- plot: {x: seq_len, y: {metric: time}, series: [attention]}";
  if (rendered(lengths, spec).find("gnuplot is not") != std::string::npos)
    GTEST_SKIP() << "gnuplot is not installed";
  const auto first = read_file((folder_ / "plot-1.svg").string());
  std::filesystem::remove_all(folder_);
  rendered(lengths, spec);
  EXPECT_EQ(*first, *read_file((folder_ / "plot-1.svg").string()));
}

TEST_F(Plots, ComeOneForEachValue) {
  const std::string text = rendered(
      lengths,
      "- plot: {x: seq_len, y: {metric: time}, for_each: [attention], title: 'with {attention}'}");
  if (text.find("gnuplot is not") != std::string::npos) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_EQ(text, "![with naive](plot-1.svg)\n\n![with flash](plot-2.svg)\n");
}

TEST_F(Plots, WithoutGnuplotTheReportSaysSo) {
  const std::string path = getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const std::string text =
      rendered(lengths, "- plot: {x: seq_len, y: {metric: time}, series: [attention]}");
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(text.rfind("No plot: gnuplot is not installed", 0), 0u) << text;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "plot-1.csv")) << "the data is kept";
}

// Figures with a mean and a confidence interval alone.
TEST_F(Plots, ImportedIntervalsAreErrorBars) {
  const char* const figures =
      "seq_len,pass,time.mean [ms],time.ci_low [ms],time.ci_high [ms]\n"
      "128,forward,1,0.75,1.5\n256,forward,4,3.5,5\n";
  const char* const shown =
      "seq_len,line,forward time [ms],low,high\n128,,1,0.75,1.5\n256,,4,3.5,5\n";
  rendered(figures, "- plot: {x: seq_len, y: {metric: time, pass: forward, unit: ms}}");
  EXPECT_EQ(data_of(folder_), shown) << "where no standard deviation is known";
  rendered(figures,
           "- plot: {x: seq_len, y: {metric: time, pass: forward, unit: ms}, bars: interval}");
  EXPECT_EQ(data_of(folder_), shown);
  rendered(figures, "- plot: {x: seq_len, y: {metric: time, pass: forward, unit: ms}, bars: std}");
  EXPECT_EQ(data_of(folder_), "seq_len,line,forward time [ms],low,high\n128,,1,1,1\n256,,4,4,4\n");
}

// The interval of the mean lies within the samples and around their mean, 2.
TEST_F(Plots, IntervalsOfSamplesAreBootstrapped) {
  rendered("seq_len,pass,time.samples [s]\n128,forward,1 2 3 2 1 3 2 2\n",
           "- plot: {x: seq_len, y: {metric: time, unit: s, stat: mean}, bars: interval}");
  const auto cells = split(split(data_of(folder_), '\n').at(1), ',');
  ASSERT_EQ(cells.size(), 5u);
  const double low = std::stod(cells[3]), high = std::stod(cells[4]);
  EXPECT_EQ(cells[2], "2");
  EXPECT_GT(low, 1);
  EXPECT_LT(low, 2);
  EXPECT_GT(high, 2);
  EXPECT_LT(high, 3);
}

// The figures of writeup 004's collectives (tests/golden/G5): a picture for each transport.
TEST_F(Plots, OfCollectivesAreOneATransport) {
  const auto csv = read_file(ASSAY_SOURCE_DIR "/tests/golden/G5/data.csv");
  const auto layout =
      read_file(ASSAY_SOURCE_DIR "/configs/layouts/collectives/collective_times.yaml");
  ASSERT_TRUE(csv && layout);
  const std::string text = rendered(*csv, *layout);
  if (text.find("gnuplot is not") != std::string::npos) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_NE(text.find("![gloo on cpu](plot-1.svg)\n\n![gloo on cuda](plot-2.svg)\n\n"
                      "![nccl on cuda](plot-3.svg)\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(data_of(folder_).rfind(
                "size [MiB],line,all_reduce time [ms],low,high\n0.5,world_size 2,0.833,", 0),
            0u)
      << data_of(folder_);
}

TEST_F(Plots, UnverifiedTimesAreNamedInTheLegend) {
  const std::string plot =
      "- plot: {x: seq_len, y: {metric: time, pass: forward}, series: [attention]";
  rendered(testing_support::unverified_run(lengths, "attention", "flash"), plot + "}");
  EXPECT_EQ(data_of(folder_),
            "seq_len,line,forward time [ms],low,high\n"
            "128,naive,1,0.9,1.1\n256,naive,4,3.8,4.2\n"
            "128,flash (not verified),2,1.9,2.1\n256,flash (not verified),3,2.8,3.2\n");
  rendered(testing_support::unverified_run(lengths, "seq_len", "128"),
           plot + ", where: {attention: naive}}");
  EXPECT_EQ(data_of(folder_),
            "seq_len,line,forward time [ms],low,high\n"
            "128,naive (1 of 2 points not verified),1,0.9,1.1\n"
            "256,naive (1 of 2 points not verified),4,3.8,4.2\n");
  PlotData one = two_lines();
  one.lines.resize(1);
  EXPECT_EQ(gnuplot_script(one, "o.svg").find("set key off"), std::string::npos)
      << "a single line keeps its legend";
  one.lines[0].name.clear();
  EXPECT_NE(gnuplot_script(one, "o.svg").find("set key off"), std::string::npos);
}

TEST_F(Plots, HaveALineForEachValueThatTheyDoNotName) {
  const std::string text = rendered(lengths, "- plot: {x: seq_len, y: {metric: time}}");
  EXPECT_NE(text.find("`attention` was added"), std::string::npos) << text;
  const std::string data = data_of(folder_);
  EXPECT_NE(data.find("\n256,naive,"), std::string::npos) << data;
  EXPECT_NE(data.find("\n256,flash,"), std::string::npos) << data;
}

TEST_F(Plots, LeaveOutCasesThatHaveNoX) {
  const std::string text = rendered(
      "attention,attention.tile,pass,time.mean [ms]\n"
      "naive,,forward,1\ntiled,small,forward,2\ntiled,large,forward,3\n",
      "- plot: {x: attention.tile, y: {metric: time, pass: forward}, series: [attention]}");
  if (text.find("gnuplot is not") != std::string::npos) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_EQ(*read_file((folder_ / "plot-1.csv").string()),
            "attention.tile,line,forward time [ms],low,high\n"
            "small,tiled,2,2,2\nlarge,tiled,3,3,3\n");
}

TEST_F(Plots, OfNothingSaySo) {
  EXPECT_EQ(
      rendered(
          lengths,
          "- plot: {x: seq_len, y: {metric: time}, series: [attention], where: 'seq_len > 999'}"),
      "No result matches this plot.\n");
}

}  // namespace
}  // namespace assay::report
