#include <gtest/gtest.h>

#include "attention_figures.h"
#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::attention;
using testing_support::markdown;
using testing_support::shown;
using testing_support::Shown;

TEST(TableFigures, SeveralStatisticsAreJoined) {
  EXPECT_EQ(shown(markdown(attention, R"(
- table:
    rows: [attention, seq_len]
    columns: {ms: {metric: time, pass: forward, stat: [mean, std], unit: ms, format: "{:.2f}"}}
    sort: [attention, seq_len]
    reasons: false
)")),
            (Shown{{{"attention", "seq_len", "ms"},
                    {"naive", "128", "2.00 ± 0.50"},
                    {"naive", "256", "OOM"},
                    {"flash", "128", "1.00 ± 0.25"},
                    {"flash", "256", "1.50 ± 0.25"}},
                   {}}));
}

TEST(TableFigures, RatiosAreAgainstTheSameCaseElsewhere) {
  EXPECT_EQ(
      shown(markdown(attention, R"(
- table:
    where: {seq_len: 128}
    rows: [attention]
    columns:
      relative: {metric: time, pass: forward, relative_to: {attention: naive}, format: "{:.2f}"}
      gain: {metric: time, pass: backward, relative_to: {attention: naive}, ratio: speedup, format: "{:.1f}x"}
)")),
      (Shown{
          {{"attention", "relative", "gain"}, {"naive", "1.00", "1.0x"}, {"flash", "0.50", "2.0x"}},
          {}}));
}

TEST(TableFigures, ExpressionsTakeColumnsInTheirUnitsAndAxes) {
  EXPECT_EQ(
      shown(markdown(attention, R"(
- table:
    where: {attention: flash}
    rows: [seq_len]
    columns:
      fwd: {metric: time, pass: forward, unit: ms, show: false}
      bwd: {metric: time, pass: backward, unit: ms, show: false}
      ratio: {expr: "bwd / fwd", format: "{:.2f}"}
      per_token: {expr: "1000 * fwd / seq_len", format: "{:.3f}"}
)")),
      (Shown{
          {{"seq_len", "ratio", "per_token"}, {"128", "3.00", "7.812"}, {"256", "2.67", "5.859"}},
          {}}));
}

TEST(TableFigures, PoolingTakesRepetitionsTogether) {
  EXPECT_EQ(shown(markdown(
                "model,repeat,pass,time.samples [s]\nsmall,0,forward,1 2\nsmall,1,forward,6\n", R"(
- table:
    rows: [model]
    columns:
      mean: {metric: time, stat: mean, unit: s, pool: [repeat]}
      n: {metric: time, stat: n, pool: [repeat]}
)")),
            (Shown{{{"model", "mean", "n"}, {"small", "3.0", "3"}}, {"- **mean** in s"}}));
}

// Iterations 1 and 2 of two ranks: maxima 3 and 8, minima 1 and 2, means 2 and 5.
TEST(TableFigures, RanksBecomeOneNumberIterationByIteration) {
  EXPECT_EQ(
      shown(markdown("world_size,pass,rank,time.samples [s]\n2,step,0,1 8\n2,step,1,3 2\n", R"(
- table:
    rows: [world_size]
    columns:
      usual: {metric: time, unit: s}
      least: {metric: time, rank: min, unit: s}
      middle: {metric: time, rank: mean, unit: s}
      second: {metric: time, rank: 1, unit: s}
      all: {metric: time, rank: all, unit: s, stat: n}
      listed: {metric: time, rank: 0, unit: s, stat: samples}
)")),
      (Shown{{{"world_size", "usual", "least", "middle", "second", "all", "listed"},
              {"2", "5.5", "1.50", "3.5", "2.50", "4", "[1, 8]"}},
             {"- **usual, least, middle, second, listed** in s"}}));
}

TEST(TableFigures, RankCanBeARow) {
  EXPECT_EQ(
      shown(markdown("world_size,pass,rank,time.samples [s]\n2,step,0,1 8\n2,step,1,3 2\n",
                     "- table:\n    rows: [rank]\n    columns: {s: {metric: time, unit: s}}\n")),
      (Shown{{{"rank", "s"}, {"0", "4.5"}, {"1", "2.50"}}, {}}));
}

// The second one was the first to tell its time.
TEST(TableFigures, RanksComeInTheirOrder) {
  EXPECT_EQ(
      shown(markdown("world_size,pass,rank,time.samples [s]\n2,step,1,3 2\n2,step,0,1 8\n",
                     "- table:\n    rows: [rank]\n    columns: {s: {metric: time, unit: s}}\n")),
      (Shown{{{"rank", "s"}, {"0", "4.5"}, {"1", "2.50"}}, {}}));
}

TEST(TableFigures, StatisticsOfSamples) {
  EXPECT_EQ(shown(markdown("model,pass,time.samples [s]\nsmall,forward,2 4 4 4 5 5 7 9\n", R"(
- table:
    rows: [model]
    columns:
      mean: {metric: time, stat: mean, unit: s}
      population: {metric: time, stat: std_population, unit: s}
      median: {metric: time, stat: median, unit: s}
      min: {metric: time, stat: min, unit: s}
      max: {metric: time, stat: max, unit: s}
      sum: {metric: time, stat: sum, unit: s}
)")),
            (Shown{{{"model", "mean", "population", "median", "min", "max", "sum"},
                    {"small", "5.0", "2.0", "4.5", "2", "9", "40"}},
                   {"- **mean, population, median, min, max, sum** in s"}}));
}

}  // namespace
}  // namespace assay::report
