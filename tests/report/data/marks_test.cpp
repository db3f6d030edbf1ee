// How reports show the marks of their figures.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rendering.h"
#include "store/records/marks.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::cells_of;
using testing_support::markdown_of;
using testing_support::Rows;
using testing_support::run_of;
using testing_support::shown;
using testing_support::Shown;

constexpr const char* figures =
    "attention,seq_len,pass,time.samples [ms],peak_memory.mean [MiB]\n"
    "naive,128,forward,[2 2 2],7\n"
    "naive,256,forward,[8.5 8.5 8.5],9\n"
    "flash,128,forward,[1 1 1],7\n"
    "flash,256,forward,[4 4 4],8\n";

constexpr const char* pivot = R"(
- table:
    rows: [seq_len]
    pivot: {by: [attention], where: {pass: forward}, metric: time, unit: ms}
)";

// Like figures that assay measured: times have a clock.
store::Run measured() {
  store::Run run = run_of(figures);
  for (store::CaseResult& result : run.cases) {
    for (store::Series& series : result.series) {
      if (series.metric == "time") series.clock = "wall";
    }
  }
  return run;
}

void mark(store::CaseResult& result, const store::Mark& mark) {
  result.facts.marks.push_back(mark);
}

const store::Mark throttled = {"throttled", "", "GPU 0 was held by its power limit in 3 of 10"};

TEST(Marks, AreExplainedInTheTerminalToo) {
  store::Run run = measured();
  mark(run.cases[1], {"throttled", "", "held by a <limit>"});
  const auto document = testing_support::built({&run}, pivot);
  ASSERT_TRUE(document) << document.error().text();
  EXPECT_THAT(
      to_terminal(*document, 0),
      ::testing::EndsWith("\n\nData quality\n\n† throttled (1 of 4 results: attention naive, "
                          "seq_len 256, forward): held by a <limit>\n"));
}

TEST(Marks, ASignStandsBehindTheNumberAndItsReasonUnderDataQuality) {
  store::Run run = measured();
  mark(run.cases[1], throttled);
  EXPECT_EQ(markdown_of({&run}, pivot),
            "|   seq_len |   naive |   flash |\n"
            "|----------:|--------:|--------:|\n"
            "|       128 |    2    |       1 |\n"
            "|       256 |    8.5† |       4 |\n"
            "\n"
            "- **naive, flash** in ms\n"
            "\n"
            "## Data quality\n"
            "\n"
            "- **† throttled** (1 of 4 results: attention naive, seq_len 256, forward): GPU 0 was "
            "held by its power limit in 3 of 10\n");
}

TEST(Marks, StandBehindTheFindingsMadeOfSuchTimes) {
  store::Run run = testing_support::run_of(
      "seq_len,attention,pass,time.mean [ms]\n128,naive,forward,4\n128,mine,forward,2\n"
      "256,naive,forward,8\n256,mine,forward,4\n");
  for (store::CaseResult& result : run.cases) {
    for (store::Series& series : result.series) series.clock = "wall";
  }
  mark(run.cases[0], throttled);
  const std::string text = markdown_of({&run}, "- findings: [speedup]");
  EXPECT_THAT(text, HasSubstr("- **mine is 2× faster than naive**†, forward (2× in 2 cases)."));
  EXPECT_THAT(text, HasSubstr(" (1 of 2 pairs throttled).\n"));
  EXPECT_THAT(text, HasSubstr("## Data quality\n\n- **† throttled** (1 of 4 results"));
  mark(run.cases[3], {"wide", "forward", "known to ± 9 %"});
  EXPECT_THAT(markdown_of({&run}, "- findings: [speedup]"), HasSubstr(" (throttled or wide).\n"));
}

// Nobody has seen what such a program did while it timed itself.
TEST(Marks, ASelfTimedRowIsInTheTableAndWinsNoSentence) {
  store::Run run = measured();
  const std::string faster = "**flash is 2.06× faster than naive**";
  EXPECT_THAT(markdown_of({&run}, "- findings: [speedup]"), HasSubstr(faster));
  for (const std::size_t of_flash : {2u, 3u}) {
    mark(run.cases[of_flash], {store::self_timed, "forward", "a program timed itself"});
  }
  EXPECT_THAT(markdown_of({&run}, "- findings: [speedup]"),
              HasSubstr("The results support none of the requested findings."));
  const std::string table = markdown_of({&run}, pivot);
  EXPECT_THAT(table, HasSubstr("- **† self-timed** (2 of 4 results: attention flash, seq_len 128, "
                               "forward; attention flash, seq_len 256, forward): a program timed "
                               "itself\n"));
}

TEST(Marks, OfAWholeRowStandBehindItsName) {
  store::Run run = measured();
  mark(run.cases[1], throttled);
  mark(run.cases[3], throttled);
  EXPECT_EQ(cells_of(markdown_of({&run}, pivot)),
            (Rows{{"seq_len", "naive", "flash"}, {"128", "2", "1"}, {"256†", "8.5", "4"}}));
  mark(run.cases[3], {"drifting", "forward", "fell by 9 %"});
  EXPECT_EQ(cells_of(markdown_of({&run}, pivot)),
            (Rows{{"seq_len", "naive", "flash"}, {"128", "2", "1"}, {"256†", "8.5", "4†"}}));
}

TEST(Marks, AnIntervalBesideTheMedianSaysWhatTheMarkWideWould) {
  store::Run run = measured();
  mark(run.cases[0], {"wide", "forward", "known to ± 9 %"});
  const auto table = [&](const std::string& statistics) {
    return markdown_of({&run},
                       "- table: {rows: [attention, seq_len], columns: {ms: {metric: time, "
                       "unit: ms, stat: " +
                           statistics + "}}}");
  };
  EXPECT_THAT(table("[median, margin]"), Not(HasSubstr("†")));
  EXPECT_THAT(table("median"), HasSubstr("2†"));
  EXPECT_THAT(table("[mean, std]"), HasSubstr("2 ± 0†"));
}

TEST(Marks, WithoutMarksNothingChanges) {
  const store::Run run = measured();
  EXPECT_EQ(markdown_of({&run}, pivot),
            "|   seq_len |   naive |   flash |\n"
            "|----------:|--------:|--------:|\n"
            "|       128 |     2   |       1 |\n"
            "|       256 |     8.5 |       4 |\n"
            "\n- **naive, flash** in ms\n");
}

TEST(Marks, EqualMarksMakeOneSentence) {
  store::Run run = measured();
  for (store::CaseResult& result : run.cases) mark(result, throttled);
  run.cases[2].facts.marks[0].reason = "GPU 0 was held by its power limit in 9 of 20";
  const std::string text = markdown_of({&run}, pivot);
  EXPECT_THAT(text,
              HasSubstr("- **† throttled** (4 of 4 results: attention naive, seq_len 128, forward; "
                        "attention naive, seq_len 256, forward; attention flash, seq_len 128, "
                        "forward; attention flash, seq_len 256, forward): for example, GPU 0 was "
                        "held by its power limit in 3 of 10\n"));
}

TEST(Marks, AMarkOfAPassIsForTheTimesOfThatPass) {
  store::Run run = measured();
  mark(run.cases[0], {"wide", "forward", "known to 9 %"});
  mark(run.cases[1], {"wide", "backward", "known to 9 %"});
  EXPECT_EQ(cells_of(markdown_of({&run}, pivot)),
            (Rows{{"seq_len", "naive", "flash"}, {"128", "2†", "1"}, {"256", "8.5", "4"}}));
}

TEST(Marks, MemoryIsNotMarked) {
  store::Run run = measured();
  mark(run.cases[1], throttled);
  EXPECT_THAT(markdown_of({&run}, R"(
- table:
    rows: [attention, seq_len]
    columns: {MiB: {metric: peak_memory, pass: forward, unit: MiB}}
)"),
              Not(HasSubstr("†")));
}

TEST(Marks, AFailureAfterMeasuringStandsBehindAllNumbersOfItsCase) {
  store::Run run = measured();
  run.cases[1].outcome = Outcome::crashed;
  run.cases[1].reason = "ended with signal 6 | last words";
  EXPECT_EQ(shown(markdown_of({&run}, R"(
- table:
    rows: [seq_len]
    columns:
      ms: {metric: time, pass: forward, where: {attention: naive}, unit: ms}
      MiB: {metric: peak_memory, pass: forward, where: {attention: naive}, unit: MiB}
    reasons: false
)")),
            (Shown{{{"seq_len", "ms", "MiB"}, {"128", "2", "7"}, {"256", "8.5†", "9†"}},
                   {"## Data quality",
                    "- **† crashed** (1 of 4 results: attention naive, seq_len 256, forward): "
                    "after all was measured: ended with signal 6 \\| last words"}}));
}

TEST(Marks, WhatIsComputedFromAMarkedFigureIsMarked) {
  store::Run run = measured();
  mark(run.cases[1], throttled);  // naive, 256: the base of the ratio
  const std::string text = markdown_of({&run}, R"(
- table:
    rows: [seq_len]
    columns:
      ms: {metric: time, pass: forward, where: {attention: flash}, unit: ms}
      gain: {metric: time, pass: forward, where: {attention: flash}, relative_to: {attention: naive}, ratio: speedup, format: "{:.1f}"}
      twice: {expr: "2 * gain", format: "{:.1f}"}
      both: {join: [ms, gain], separator: " / "}
)");
  EXPECT_EQ(cells_of(text), (Rows{{"seq_len", "ms", "gain", "twice", "both"},
                                  {"128", "1", "2.0", "4.0", "1 / 2.0"},
                                  {"256", "4", "2.1†", "4.2†", "4 / 2.1†"}}));
}

TEST(Marks, ARatioToItselfHasNone) {
  store::Run run = measured();
  mark(run.cases[1], throttled);  // naive, 256: the base of both ratios of its length
  EXPECT_EQ(cells_of(markdown_of({&run}, R"(
- table:
    where: {seq_len: 256}
    rows: [attention]
    columns:
      gain: {metric: time, relative_to: {attention: naive}, ratio: speedup, format: "{:.1f}"}
)")),
            (Rows{{"attention", "gain"}, {"naive", "1.0"}, {"flash", "2.1†"}}));
}

TEST(Marks, AreToldWhereReasonsOfFailuresAreNot) {
  store::Run run = measured();
  mark(run.cases[1], throttled);
  EXPECT_THAT(markdown_of({&run}, std::string(pivot) + "    reasons: false\n"),
              HasSubstr("**† throttled**"));
}

TEST(Marks, TextBlocksShowTheSignToo) {
  store::Run run = measured();
  mark(run.cases[1], throttled);
  const std::string text = markdown_of({&run}, R"(
- text:
    rows: [attention, seq_len]
    columns: {ms: {metric: time, pass: forward, unit: ms}}
    row: "{attention} {seq_len}: {ms}"
)");
  EXPECT_THAT(text, HasSubstr("naive 256: 8.5†\n"));
  EXPECT_THAT(
      text, HasSubstr("- **† throttled** (1 of 4 results: attention naive, seq_len 256, forward)"));
}

store::Run with_a_discarded_case() {
  store::Run run = measured();
  mark(run.cases[1], throttled);
  run.cases[1].facts.discarded = {{"forward", "throttled"}};
  return run;
}

TEST(Discarded, TheCellShowsTheMarkAndTheReasonIsBelow) {
  const store::Run run = with_a_discarded_case();
  EXPECT_EQ(shown(markdown_of({&run}, pivot)),
            (Shown{{{"seq_len", "naive", "flash"}, {"128", "2", "1"}, {"256", "THROTTLED", "4"}},
                   {"- **naive, flash** in ms",
                    "- **throttled** (1 cell: seq_len 256): discarded: GPU 0 was held by its power "
                    "limit in 3 of 10"}}));
}

TEST(Discarded, TheRowCountsAsSkipped) {
  const store::Run run = with_a_discarded_case();
  const std::string text = markdown_of({&run}, R"(
- table:
    where: {attention: naive}
    rows: [seq_len]
    columns: {ms: {metric: time, pass: forward, unit: ms}}
    omit: [skipped]
)");
  EXPECT_THAT(text, Not(HasSubstr("| 256")));
  EXPECT_THAT(text, Not(HasSubstr("8.5")));
}

TEST(Discarded, OtherMetricsStay) {
  const store::Run run = with_a_discarded_case();
  EXPECT_THAT(markdown_of({&run}, R"(
- table:
    where: {attention: naive}
    rows: [seq_len]
    columns: {MiB: {metric: peak_memory, pass: forward, unit: MiB}}
)"),
              HasSubstr("|       256 |     9 |"));
}

TEST(Discarded, NoFindingRestsOnIt) {
  store::Run run = with_a_discarded_case();
  const std::string without = markdown_of({&run}, "- findings: true\n");
  run.cases[1].series[0].samples = {1e6, 1e6, 1e6};
  EXPECT_EQ(markdown_of({&run}, "- findings: true\n"), without);
}

}  // namespace
}  // namespace assay::report
