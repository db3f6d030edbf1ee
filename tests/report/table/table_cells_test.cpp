#include <gtest/gtest.h>

#include "attention_figures.h"
#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::attention;
using testing_support::built;
using testing_support::markdown;
using testing_support::markdown_of;
using testing_support::run_of;
using testing_support::shown;
using testing_support::Shown;

TEST(TableCells, ReasonsStandBelow) {
  const std::string text = markdown(attention, R"(
- table:
    rows: [seq_len]
    pivot: {by: [attention], where: {pass: forward}, metric: time, unit: ms}
)");
  EXPECT_NE(text.find("- **oom** (1 cell: seq_len 256): 2 GiB requested\n"), std::string::npos)
      << text;
}

// Three sizes by two kinds: two pairs were not measured, one has no memory.
const char* const gaps =
    "kind,size,pass,time.mean [ms],peak_memory.mean [MiB]\n"
    "a,1,forward,2,10\n"
    "a,2,forward,0,20\n"
    "b,1,forward,4,\n"
    "b,3,forward,5,30\n";

TEST(TableCells, ABlankCellSaysWhetherAnythingWasMeasured) {
  EXPECT_EQ(
      shown(markdown(gaps, R"(
- table:
    rows: [size]
    pivot: {by: [kind], metric: peak_memory, pass: forward, unit: MiB}
)")),
      (Shown{{{"size", "a", "b"}, {"1", "10", ""}, {"2", "20", ""}, {"3", "", "30"}},
             {"- **a, b** in MiB", "- **blank** (1 cell: size 1): no peak_memory is stored for it",
              "- **blank** (2 cells: size 2; size 3): no result is stored for it"}}));
}

TEST(TableCells, WhatIsComputedSaysWhatItLacks) {
  const std::string divided = markdown(gaps, R"(
- table:
    where: {kind: a}
    rows: [size]
    columns:
      ms: {metric: time, pass: forward, unit: ms}
      share: {expr: "1 / ms"}
)");
  EXPECT_NE(divided.find("- **N/A** (1 cell: size 2): its formula has no value here\n"),
            std::string::npos)
      << divided;

  const std::string text = markdown(gaps, R"(
- table:
    where: {kind: b}
    rows: [size]
    columns:
      ms: {metric: time, pass: forward, unit: ms}
      memory: {metric: peak_memory, pass: forward, unit: MiB, show: false}
      twice: {expr: "2 * memory"}
)");
  EXPECT_NE(text.find("- **N/A** (1 cell: size 1): there is no memory\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("blank"), std::string::npos) << "what is not shown is not blank\n" << text;

  const std::string of_an_outcome = markdown(attention, R"(
- table:
    where: {attention: naive}
    rows: [seq_len]
    columns:
      fwd: {metric: time, pass: forward, unit: ms}
      twice: {expr: "2 * fwd"}
)");
  EXPECT_NE(of_an_outcome.find("- **N/A** (1 cell: seq_len 256): fwd is oom\n"), std::string::npos)
      << of_an_outcome;
}

TEST(TableCells, ACellOfSeveralFiguresCountsOnce) {
  const std::string text = markdown(attention, R"(
- table:
    where: {attention: naive}
    rows: [seq_len]
    columns:
      ms: {metric: time, pass: forward, unit: ms, stat: [mean, std]}
)");
  EXPECT_NE(text.find("- **oom** (1 cell: seq_len 256): 2 GiB requested\n"), std::string::npos)
      << text;
}

TEST(TableCells, EveryRowThatFailedIsNamed) {
  std::string figures = "size,pass,time.mean [ms],outcome,reason\n";
  std::string rows;
  for (int size = 1; size <= 9; ++size) {
    figures += std::to_string(size) + ",forward,,oom,too large\n";
    rows += (size == 1 ? "size " : "; size ") + std::to_string(size);
  }
  const std::string text = markdown(figures, R"(
- table:
    rows: [size]
    columns: {ms: {metric: time, pass: forward, unit: ms}}
)");
  EXPECT_NE(text.find("- **oom** (9 cells: " + rows + "): too large\n"), std::string::npos) << text;
}

TEST(TableCells, CellTextsAndOutcomes) {
  EXPECT_EQ(shown(markdown(attention, R"(
- table:
    where: {attention: naive}
    rows: [seq_len]
    columns:
      ms: {metric: time, pass: forward, unit: ms, format: "{:.2f}"}
      state: {outcome: row, labels: {ok: fits}}
    cells: {oom: Out of memory}
    reasons: false
)")),
            (Shown{{{"seq_len", "ms", "state"},
                    {"128", "2.00", "fits"},
                    {"256", "Out of memory", "Out of memory"}},
                   {}}));
}

TEST(TableCells, OmittedRowsAreNamedByTheNote) {
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
            "|       128 | 2.00 |\n"
            "\n"
            "256 ran out: 2 GiB requested\n");
}

TEST(TableCells, RatioWithoutABaseIsNotANumber) {
  EXPECT_EQ(markdown(attention, R"(
- table:
    where: {seq_len: 256}
    rows: [seq_len]
    columns:
      gain: {metric: time, pass: forward, where: {attention: flash}, relative_to: {attention: naive}, ratio: speedup, format: "{:.1f}x"}
)"),
            "|   seq_len | gain   |\n"
            "|----------:|:-------|\n"
            "|       256 | N/A    |\n"
            "\n"
            "- **N/A** (1 cell: seq_len 256): its baseline is oom\n");
}

TEST(TableCells, ExpressionOverWhatIsNoNumberIsNone) {
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

TEST(TableCells, TheSameCaseTwiceIsToldInTheBlocksPlace) {
  store::Run run = run_of("model,pass,time.mean [s]\nsmall,forward,1\n");
  run.cases.push_back(run.cases.front());
  const auto document =
      built({&run},
            "- table:\n    rows: [model]\n    columns: {s: {metric: time, unit: s}}\n"
            "- prose: Told all the same.\n");
  ASSERT_TRUE(document) << document.error().text();
  ASSERT_EQ(document->problems.size(), 1u);
  EXPECT_NE(document->problems[0].text().find(
                "spec.yaml:3:18: 's' has several results of time with the same parameters"),
            std::string::npos)
      << document->problems[0].text();
  const std::string text = *to_markdown(*document);
  EXPECT_NE(text.find("**Not made**: spec.yaml:3:18: 's' has several results of time with the"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nTold all the same.\n"), std::string::npos) << text;
}

TEST(TableCells, ACaseThatCrashedHasARow) {
  store::Run run = run_of("model,pass,time.mean [s]\nsmall,forward,1\n");
  store::CaseResult crashed;
  crashed.parameters["model"] = std::string("xl");
  crashed.outcome = Outcome::crashed;
  crashed.reason = "signal 11";
  run.cases.push_back(crashed);
  EXPECT_EQ(shown(markdown_of(
                {&run},
                "- table:\n    rows: [model]\n    columns: {s: {metric: time, pass: forward, "
                "unit: s}}\n")),
            (Shown{{{"model", "s"}, {"small", "1"}, {"xl", "CRASHED"}},
                   {"- **crashed** (1 cell: model xl): signal 11"}}));
}

TEST(TableCells, OtherMetricsOfAFailedPassShowItsOutcome) {
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

// A line below the table states a unit that header and cells omit.
TEST(Units, StandBelowWhereNothingElseSaysThem) {
  const std::string figures =
      "kind,pass,time.samples [s],peak_memory.value [MiB],bucket\n"
      "a,forward,\"[1, 3]\",4,8\n";
  EXPECT_EQ(shown(markdown(figures, R"(
- table:
    rows: [kind]
    columns:
      time: {metric: time, unit: ms}
      least: {metric: time, stat: min, unit: ms}
      both: {metric: time, stat: [mean, std], unit: s}
      items: {metric: time, unit: ms}
      peak: {metric: peak_memory, unit: MiB}
      n: {metric: time, stat: n}
)")),
            (Shown{{{"kind", "time", "least", "both", "items", "peak", "n"},
                    {"a", "2000", "1000", "2.0 ± 1.4", "2000", "4", "2"}},
                   {"- **peak** in MiB", "- **time, least, items** in ms", "- **both** in s"}}));
  EXPECT_EQ(markdown(figures, R"(
- table:
    rows: [kind]
    columns:
      avg_ms: {metric: time, unit: ms}
      "least [ms]": {metric: time, stat: min, unit: ms}
      Mean (millisecond): {metric: time, unit: ms}
      Time in seconds: {metric: time, unit: s}
      mean: {metric: time, unit: ms, format: "{:.0f} ms"}
      sci: {metric: time, unit: s, format: sci(1)}
      iec: {metric: peak_memory, format: iec}
)")
                .find("** in "),
            std::string::npos);
}

}  // namespace
}  // namespace assay::report
