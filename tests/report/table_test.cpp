#include <gtest/gtest.h>

#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::built;
using testing_support::markdown;
using testing_support::markdown_of;
using testing_support::run_of;

// Two variants at two lengths; the slow one runs out of memory at the larger.
const char* const attention =
    "seq_len,attention,pass,time.mean [ms],time.std [ms],peak_memory.mean [MiB],outcome,reason\n"
    "128,naive,forward,2,0.5,10,,\n"
    "128,naive,backward,6,1,,,\n"
    "128,flash,forward,1,0.25,4,,\n"
    "128,flash,backward,3,0.5,,,\n"
    "256,naive,forward,,,,oom,2 GiB requested\n"
    "256,naive,backward,,,,oom,2 GiB requested\n"
    "256,flash,forward,1.5,0.25,8,,\n"
    "256,flash,backward,4,0.5,,,\n";

TEST(Table, RowsAndSpelledColumns) {
  EXPECT_EQ(markdown(attention, R"(
- table:
    where: {attention: flash}
    columns:
      length: {axis: seq_len}
      ms: {metric: time, pass: forward, unit: ms}
      us: {metric: time, pass: forward, unit: us, format: "{:.1f}"}
      MiB: {metric: peak_memory, pass: forward, unit: MiB}
)"),
            "|   length |   ms |     us |   MiB |\n"
            "|---------:|-----:|-------:|------:|\n"
            "|      128 |  1   | 1000.0 |     4 |\n"
            "|      256 |  1.5 | 1500.0 |     8 |\n");
}

TEST(Table, PivotSpreadsAxesIntoColumns) {
  EXPECT_EQ(
      markdown(attention, R"(
- table:
    rows: [seq_len]
    pivot: {by: [pass, attention], metric: time, unit: ms, name: "{attention}_{pass}_ms", labels: {naive: vanilla, forward: fwd, backward: bwd}}
    reasons: false
)"),
      "|   seq_len | vanilla_fwd_ms   |   flash_fwd_ms | vanilla_bwd_ms   |   flash_bwd_ms |\n"
      "|----------:|:-----------------|---------------:|:-----------------|---------------:|\n"
      "|       128 | 2.0              |            1   | 6.0              |              3 |\n"
      "|       256 | OOM              |            1.5 | OOM              |              4 |\n");
}

TEST(Table, WhereOfAPivotGivesTheOrderOfItsColumns) {
  const std::string text = markdown(attention, R"(
- table:
    rows: [seq_len]
    pivot: {by: [attention], where: {attention: [flash, naive], pass: forward}, metric: time, unit: ms}
    reasons: false
)");
  EXPECT_LT(text.find("flash"), text.find("naive"));
}

TEST(Table, ReasonsStandBelow) {
  const std::string text = markdown(attention, R"(
- table:
    rows: [seq_len]
    pivot: {by: [attention], where: {pass: forward}, metric: time, unit: ms}
)");
  EXPECT_NE(text.find("- **oom** (1 cell: seq_len 256): 2 GiB requested\n"), std::string::npos)
      << text;
}

TEST(Table, CellTextsAndOutcomes) {
  EXPECT_EQ(markdown(attention, R"(
- table:
    where: {attention: naive}
    rows: [seq_len]
    columns:
      ms: {metric: time, pass: forward, unit: ms, format: "{:.2f}"}
      state: {outcome: row, labels: {ok: fits}}
    cells: {oom: Out of memory}
    reasons: false
)"),
            "|   seq_len | ms            | state         |\n"
            "|----------:|:--------------|:--------------|\n"
            "|       128 | 2.00          | fits          |\n"
            "|       256 | Out of memory | Out of memory |\n");
}

TEST(Table, OmittedRowsAreNamedByTheNote) {
  const std::string text = markdown(attention, R"(
- table:
    where: {attention: naive}
    rows: [seq_len]
    columns: {ms: {metric: time, pass: forward, unit: ms}}
    omit: [oom]
    note: "{seq_len} ran out: {reason}"
)");
  EXPECT_EQ(text,
            "|   seq_len |   ms |\n"
            "|----------:|-----:|\n"
            "|       128 |    2 |\n"
            "\n"
            "256 ran out: 2 GiB requested\n");
}

TEST(Table, SeveralStatisticsAreJoined) {
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

TEST(Table, RatiosAreAgainstTheSameCaseElsewhere) {
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

TEST(Table, RatioWithoutABaseIsNotANumber) {
  EXPECT_EQ(markdown(attention, R"(
- table:
    where: {seq_len: 256}
    rows: [seq_len]
    columns:
      gain: {metric: time, pass: forward, where: {attention: flash}, relative_to: {attention: naive}, ratio: speedup, format: "{:.1f}x"}
)"),
            "|   seq_len | gain   |\n"
            "|----------:|:-------|\n"
            "|       256 | N/A    |\n");
}

TEST(Table, ExpressionsTakeColumnsInTheirUnitsAndAxes) {
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

TEST(Table, ExpressionOverWhatIsNoNumberIsNone) {
  const std::string text = markdown(attention, R"(
- table:
    where: {attention: naive}
    rows: [seq_len]
    columns:
      fwd: {metric: time, pass: forward, unit: ms}
      twice: {expr: "2 * fwd", format: "{:.1f}"}
    reasons: false
)");
  EXPECT_NE(text.find("|       256 | OOM   | N/A     |"), std::string::npos) << text;
}

TEST(Table, JoinPutsCellsOfSeveralRunsInOne) {
  const store::Run a =
      run_of("model,pass,time.mean [ms],outcome\nsmall,forward,3,\nxl,forward,,oom\n", "a");
  const store::Run b =
      run_of("model,pass,time.mean [ms],outcome\nsmall,forward,2.5,\nxl,forward,9,\n", "b");
  EXPECT_EQ(markdown_of({&a, &b}, R"(
- table:
    rows: [model]
    columns:
      both: {join: [{metric: time, source: 0, unit: ms}, {metric: time, source: b, unit: ms}], separator: " / "}
    cells: {oom: Out of memory}
    reasons: false
)"),
            "| model   | both              |\n"
            "|:--------|:------------------|\n"
            "| small   | 3 / 2.5           |\n"
            "| xl      | Out of memory / 9 |\n");
}

TEST(Table, TextColumnsAreTemplatesOverAxes) {
  EXPECT_EQ(
      markdown("model,seq_len,pass,time.mean [s]\nsmall,128,forward,1\nsmall,256,forward,2\n", R"(
- table:
    columns:
      case: {text: "{model}_seq{seq_len}"}
      s: {metric: time, pass: forward, unit: s}
)"),
      "| case         |   s |\n"
      "|:-------------|----:|\n"
      "| small_seq128 |   1 |\n"
      "| small_seq256 |   2 |\n");
}

TEST(Table, SortsKeepsAndLimits) {
  const char* const kernels =
      "pass,part,time.mean "
      "[ms]\nforward,copy,1\nforward,gemm,9\nforward,softmax,4\nforward,tiny,0.1\n";
  EXPECT_EQ(markdown(kernels, R"(
- table:
    index: true
    rows: [part]
    columns: {ms: {metric: time, unit: ms}}
    sort: ["-ms"]
    keep: "ms > 0.5"
    limit: 2
)"),
            "|    | part    |   ms |\n"
            "|---:|:--------|-----:|\n"
            "|  0 | gemm    |    9 |\n"
            "|  1 | softmax |    4 |\n");
}

TEST(Table, WordsSortAsTheyWerePlannedAndNumbersBySize) {
  const char* const models =
      "model,seq_len,pass,time.mean "
      "[s]\nsmall,1024,forward,1\nsmall,128,forward,2\nlarge,1024,forward,3\n";
  const std::string text = markdown(models, R"(
- table:
    rows: [model, seq_len]
    columns: {s: {metric: time, unit: s}}
    sort: [model, seq_len]
)");
  EXPECT_LT(text.find("128"), text.find("1024"));
  EXPECT_LT(text.find("small"), text.find("large"));
}

TEST(Table, SummaryLinesTakeAllRows) {
  const std::string text = markdown(attention, R"(
- table:
    where: {attention: flash}
    rows: [seq_len]
    columns: {ms: {metric: time, pass: backward, unit: ms}}
    summary: ["{count(ms)} lengths, {mean(ms):.2f} ms on average, at most {max(ms)}"]
)");
  EXPECT_NE(text.find("\n2 lengths, 3.50 ms on average, at most 4\n"), std::string::npos) << text;
}

TEST(Table, RepeatsForEachValue) {
  const std::string text = markdown(attention, R"(
- table:
    for_each: [attention]
    title: "With {attention}"
    rows: [seq_len]
    columns: {ms: {metric: time, pass: forward, unit: ms}}
    reasons: false
)");
  EXPECT_NE(text.find("### With naive\n\n|   seq_len | ms   |"), std::string::npos) << text;
  EXPECT_NE(text.find("### With flash\n\n|   seq_len |   ms |"), std::string::npos) << text;
}

TEST(Table, WithoutRowsTheAxesThatVaryAre) {
  EXPECT_EQ(markdown("model,batch,pass,time.mean [s]\nsmall,4,forward,1\nlarge,4,forward,2\n",
                     "- table: {columns: {s: {metric: time, unit: s}}}"),
            "| model   |   s |\n"
            "|:--------|----:|\n"
            "| small   |   1 |\n"
            "| large   |   2 |\n");
}

TEST(Table, ACellOfTwoCasesIsAnErrorThatNamesTheDifference) {
  const store::Run run =
      run_of("model,batch,pass,time.mean [s]\nsmall,4,forward,1\nsmall,8,forward,2\n");
  const auto document =
      built({&run}, "- table:\n    rows: [model]\n    columns: {s: {metric: time, unit: s}}\n");
  ASSERT_FALSE(document);
  const std::string text = document.error().text();
  EXPECT_NE(text.find("spec.yaml:3:"), std::string::npos) << text;
  EXPECT_NE(text.find("model=small"), std::string::npos) << text;
  EXPECT_NE(text.find("they differ in batch (4, 8)"), std::string::npos) << text;
}

TEST(Table, ACellOfTwoPassesIsAnErrorToo) {
  const store::Run run = run_of("model,pass,time.mean [s]\nsmall,forward,1\nsmall,backward,2\n");
  const auto document =
      built({&run}, "- table:\n    rows: [model]\n    columns: {s: {metric: time, unit: s}}\n");
  ASSERT_FALSE(document);
  EXPECT_NE(document.error().text().find("pass (forward, backward)"), std::string::npos);
}

TEST(Table, TwoRunsWithoutASourceAreAmbiguous) {
  const store::Run a = run_of("model,pass,time.mean [s]\nsmall,forward,1\n", "a");
  const store::Run b = run_of("model,pass,time.mean [s]\nsmall,forward,2\n", "b");
  const auto document =
      built({&a, &b}, "- table:\n    rows: [model]\n    columns: {s: {metric: time, unit: s}}\n");
  ASSERT_FALSE(document);
  EXPECT_NE(document.error().text().find("source (0, 1)"), std::string::npos)
      << document.error().text();
}

TEST(Table, TheSameCaseTwiceIsAnError) {
  store::Run run = run_of("model,pass,time.mean [s]\nsmall,forward,1\n");
  run.cases.push_back(run.cases.front());
  const auto document =
      built({&run}, "- table:\n    rows: [model]\n    columns: {s: {metric: time, unit: s}}\n");
  ASSERT_FALSE(document);
  EXPECT_NE(document.error().text().find("several results of time with the same parameters"),
            std::string::npos)
      << document.error().text();
}

TEST(Table, PoolingTakesRepetitionsTogether) {
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
      "| small   |      3 |   3 |\n");
}

// Iterations 1 and 2 of two ranks: maxima 3 and 8, minima 1 and 2, means 2 and 5.
TEST(Table, RanksBecomeOneNumberIterationByIteration) {
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
            "|            2 |     5.5 |     1.5 |      3.5 |      2.5 |     4 | [1.0, 8.0] |\n");
}

TEST(Table, RankCanBeARow) {
  EXPECT_EQ(markdown("world_size,pass,rank,time.samples [s]\n2,step,0,1 8\n2,step,1,3 2\n",
                     "- table:\n    rows: [rank]\n    columns: {s: {metric: time, unit: s}}\n"),
            "|   rank |   s |\n"
            "|-------:|----:|\n"
            "|      0 | 4.5 |\n"
            "|      1 | 2.5 |\n");
}

TEST(Table, StatisticsOfSamples) {
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
            "| small   |      5 |            2 |      4.5 |     2 |     9 |    40 |\n");
}

TEST(Table, ACaseThatCrashedHasARow) {
  store::Run run = run_of("model,pass,time.mean [s]\nsmall,forward,1\n");
  store::CaseResult crashed;
  crashed.parameters["model"] = std::string("xl");
  crashed.outcome = Outcome::crashed;
  crashed.reason = "signal 11";
  run.cases.push_back(crashed);
  EXPECT_EQ(
      markdown_of({&run},
                  "- table:\n    rows: [model]\n    columns: {s: {metric: time, pass: forward, "
                  "unit: s}}\n"),
      "| model   | s       |\n"
      "|:--------|:--------|\n"
      "| small   | 1.0     |\n"
      "| xl      | CRASHED |\n"
      "\n"
      "- **crashed** (1 cell: model xl): signal 11\n");
}

TEST(Table, OtherMetricsOfAFailedPassShowItsOutcome) {
  store::Run run = run_of("model,pass,time.mean [s],peak_memory.mean [MiB]\nsmall,forward,1,7\n");
  store::CaseResult failed;
  failed.parameters["model"] = std::string("xl");
  store::Series series;
  series.pass = "forward";
  series.metric = "time";
  series.unit = "s";
  series.outcome = Outcome::oom;
  failed.series.push_back(series);
  run.cases.push_back(failed);
  const std::string text = markdown_of({&run}, R"(
- table:
    rows: [model]
    columns: {MiB: {metric: peak_memory, pass: forward, unit: MiB}}
    reasons: false
)");
  EXPECT_NE(text.find("| xl      | OOM   |"), std::string::npos) << text;
}

TEST(Table, WithoutResultsSaysWhy) {
  EXPECT_EQ(markdown(attention,
                     "- table: {where: {attention: falsh}, columns: {s: {metric: time, pass: "
                     "forward, unit: s}}}"),
            "No result matches this table: attention is naive or flash, not 'falsh'.\n");
  EXPECT_EQ(markdown(attention,
                     "- table: {where: 'seq_len > 9999', columns: {s: {metric: time, pass: "
                     "forward, unit: s}}}"),
            "No result matches this table.\n");
}

TEST(Table, ConditionsMayBeExpressions) {
  const std::string text = markdown(attention, R"(
- table:
    where: "seq_len > 128 && attention == flash"
    rows: [seq_len]
    columns: {ms: {metric: time, pass: forward, unit: ms}}
)");
  EXPECT_EQ(text,
            "|   seq_len |   ms |\n"
            "|----------:|-----:|\n"
            "|       256 |  1.5 |\n");
}

TEST(Table, SizesAreChosenAndShownWithUnits) {
  EXPECT_EQ(markdown("size,pass,time.mean [ms]\n1048576,all_reduce,1\n10485760,all_reduce,5\n", R"(
- table:
    where: {size: 10 MiB}
    columns:
      MiB: {axis: size, unit: MiB}
      size: {axis: size, labels: {1048576: one, 10 MiB: ten}}
      ms: {metric: time, unit: ms}
)"),
            "|   MiB | size   |   ms |\n"
            "|------:|:-------|-----:|\n"
            "|    10 | ten    |    5 |\n");
}

TEST(Table, NamesTimesThatNobodyHasVerified) {
  store::Run run = run_of(
      "seq_len,attention,pass,time.mean [ms],bytes.mean [byte]\n"
      "128,naive,forward,2,8\n128,mine,forward,1,8\n256,mine,forward,1.5,8\n");
  for (store::CaseResult& result : run.cases) {
    for (store::Series& series : result.series) {
      if (series.metric == "time") series.clock = "wall";
    }
    if (to_text(result.parameters.at("attention")) == "mine") {
      result.context["unverified"] = {{"forward", "mine: too large"}};
    }
  }
  const std::string rows = "- table: {rows: [seq_len, attention], columns: {x: ";
  EXPECT_NE(
      markdown_of({&run}, rows + "{metric: time, unit: ms}}}")
          .find("**not verified** (2 cells: seq_len 128, attention mine; seq_len 256, attention "
                "mine): mine: too large"),
      std::string::npos);
  // A ratio of an unverified time is no better; what is counted needs no verifying.
  EXPECT_NE(markdown_of({&run}, rows + "{metric: time, relative_to: {attention: naive}}}}")
                .find("**not verified** (1 cell: seq_len 128, attention mine)"),
            std::string::npos);
  EXPECT_EQ(markdown_of({&run}, rows + "{metric: bytes, unit: byte, where: {attention: mine}}}}"),
            "|   seq_len | attention   |   x |\n"
            "|----------:|:------------|----:|\n"
            "|       128 | mine        |   8 |\n"
            "|       256 | mine        |   8 |\n");
}

}  // namespace
}  // namespace assay::report
