#include <gtest/gtest.h>

#include "attention_figures.h"
#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::attention;
using testing_support::markdown;

TEST(TableFigures, SeveralStatisticsAreJoined) {
  EXPECT_EQ(markdown(attention, R"(
- table:
    rows: [attention, seq_len]
    columns: {ms: {metric: time, pass: forward, stat: [mean, std], unit: ms, format: "{:.2f}"}}
    sort: [attention, seq_len]
    reasons: false
)"),
            "| attention   |   seq_len | ms          |\n"
            "|:------------|----------:|:------------|\n"
            "| naive       |       128 | 2.00 ± 0.50 |\n"
            "| naive       |       256 | OOM         |\n"
            "| flash       |       128 | 1.00 ± 0.25 |\n"
            "| flash       |       256 | 1.50 ± 0.25 |\n");
}

TEST(TableFigures, RatiosAreAgainstTheSameCaseElsewhere) {
  EXPECT_EQ(markdown(attention, R"(
- table:
    where: {seq_len: 128}
    rows: [attention]
    columns:
      relative: {metric: time, pass: forward, relative_to: {attention: naive}, format: "{:.2f}"}
      gain: {metric: time, pass: backward, relative_to: {attention: naive}, ratio: speedup, format: "{:.1f}x"}
)"),
            "| attention   |   relative | gain   |\n"
            "|:------------|-----------:|:-------|\n"
            "| naive       |       1.00 | 1.0x   |\n"
            "| flash       |       0.50 | 2.0x   |\n");
}

TEST(TableFigures, ExpressionsTakeColumnsInTheirUnitsAndAxes) {
  EXPECT_EQ(markdown(attention, R"(
- table:
    where: {attention: flash}
    rows: [seq_len]
    columns:
      fwd: {metric: time, pass: forward, unit: ms, show: false}
      bwd: {metric: time, pass: backward, unit: ms, show: false}
      ratio: {expr: "bwd / fwd", format: "{:.2f}"}
      per_token: {expr: "1000 * fwd / seq_len", format: "{:.3f}"}
)"),
            "|   seq_len |   ratio |   per_token |\n"
            "|----------:|--------:|------------:|\n"
            "|       128 |    3.00 |       7.812 |\n"
            "|       256 |    2.67 |       5.859 |\n");
}

TEST(TableFigures, PoolingTakesRepetitionsTogether) {
  EXPECT_EQ(
      markdown("model,repeat,pass,time.samples [s]\nsmall,0,forward,1 2\nsmall,1,forward,6\n", R"(
- table:
    rows: [model]
    columns:
      mean: {metric: time, unit: s, pool: [repeat]}
      n: {metric: time, stat: n, pool: [repeat]}
)"),
      "| model   |   mean |   n |\n"
      "|:--------|-------:|----:|\n"
      "| small   |      3 |   3 |\n"
      "\n- **mean** in s\n");
}

// Iterations 1 and 2 of two ranks: maxima 3 and 8, minima 1 and 2, means 2 and 5.
TEST(TableFigures, RanksBecomeOneNumberIterationByIteration) {
  EXPECT_EQ(markdown("world_size,pass,rank,time.samples [s]\n2,step,0,1 8\n2,step,1,3 2\n", R"(
- table:
    rows: [world_size]
    columns:
      usual: {metric: time, unit: s}
      least: {metric: time, rank: min, unit: s}
      middle: {metric: time, rank: mean, unit: s}
      second: {metric: time, rank: 1, unit: s}
      all: {metric: time, rank: all, unit: s, stat: n}
      listed: {metric: time, rank: 0, unit: s, stat: samples}
)"),
            "|   world_size |   usual |   least |   middle |   second |   all | listed     |\n"
            "|-------------:|--------:|--------:|---------:|---------:|------:|:-----------|\n"
            "|            2 |     5.5 |     1.5 |      3.5 |      2.5 |     4 | [1.0, 8.0] |\n"
            "\n- **usual, least, middle, second, listed** in s\n");
}

TEST(TableFigures, RankCanBeARow) {
  EXPECT_EQ(markdown("world_size,pass,rank,time.samples [s]\n2,step,0,1 8\n2,step,1,3 2\n",
                     "- table:\n    rows: [rank]\n    columns: {s: {metric: time, unit: s}}\n"),
            "|   rank |   s |\n"
            "|-------:|----:|\n"
            "|      0 | 4.5 |\n"
            "|      1 | 2.5 |\n");
}

TEST(TableFigures, StatisticsOfSamples) {
  EXPECT_EQ(markdown("model,pass,time.samples [s]\nsmall,forward,2 4 4 4 5 5 7 9\n", R"(
- table:
    rows: [model]
    columns:
      mean: {metric: time, unit: s}
      population: {metric: time, stat: std_population, unit: s}
      median: {metric: time, stat: median, unit: s}
      min: {metric: time, stat: min, unit: s}
      max: {metric: time, stat: max, unit: s}
      sum: {metric: time, stat: sum, unit: s}
)"),
            "| model   |   mean |   population |   median |   min |   max |   sum |\n"
            "|:--------|-------:|-------------:|---------:|------:|------:|------:|\n"
            "| small   |      5 |            2 |      4.5 |     2 |     9 |    40 |\n"
            "\n- **mean, population, median, min, max, sum** in s\n");
}

}  // namespace
}  // namespace assay::report
