#include "cli/show/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/show/outcome_summary.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

store::CaseResult ended(std::int64_t ordinal, Outcome outcome, const std::string& reason) {
  store::CaseResult result;
  result.ordinal = ordinal;
  result.outcome = outcome;
  result.reason = reason;
  result.wall_s = 2;
  return result;
}

// Stderr after a run of two cases, the second unsupported.
std::string shown(bool terminal) {
  ::testing::internal::CaptureStderr();
  Progress progress(terminal);
  progress.run_started("toy-1", 2, 0);
  progress.case_started(0, "attention=naive");
  progress.case_finished(ended(0, Outcome::ok, ""));
  progress.case_started(1, "attention=flash");
  progress.case_finished(ended(1, Outcome::unsupported, "flash wants bf16"));
  progress.close();
  return ::testing::internal::GetCapturedStderr();
}

TEST(Progress, NamesEveryCaseWhereThereIsNoTerminal) {
  const std::string text = shown(false);
  EXPECT_THAT(text, HasSubstr("1/2 attention=naive: ok (2.0 s)\n"));
  EXPECT_THAT(text, HasSubstr("2/2 attention=flash: unsupported (2.0 s): flash wants bf16\n"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(Progress, LeavesALineForEachCaseThatIsNotOkOnATerminal) {
  const std::string text = shown(true);
  // The line replaces the bar, which is drawn again below.
  EXPECT_THAT(text, HasSubstr("\r\033[K2/2 attention=flash: unsupported (2.0 s): flash wants bf16\n"
                              "\r\033[K[####################] 2/2 1 ok, 1 unsupported"));
  EXPECT_THAT(text, Not(HasSubstr("attention=naive: ok")));
}

// Stderr while two cases run on a terminal of these widths, one after the other.
std::string shown_at(std::size_t first, std::size_t then) {
  ::testing::internal::CaptureStderr();
  std::size_t width = first;
  Progress progress(true, [&] { return width; });
  progress.run_started("toy-1", 12, 0);
  progress.case_started(0, "attention=naive, seq_len=4096, precision=größer");
  width = then;
  progress.case_finished(ended(0, Outcome::ok, ""));
  return ::testing::internal::GetCapturedStderr();
}

TEST(Progress, FitsANarrowTerminalAndKeepsTheCounts) {
  const std::string text = shown_at(30, 30);
  for (const std::string& drawn : split(text.substr(text.find('\r')), '\r')) {
    const std::string line = drawn.substr(std::min(drawn.size(), std::string("\033[K").size()));
    EXPECT_LT(display_width(line), 30u) << line;
    EXPECT_EQ(valid_utf8(line), line) << "a character is whole or absent";
  }
  EXPECT_THAT(text, HasSubstr("\r\033[K1/12 1 ok"));
  EXPECT_THAT(text, Not(HasSubstr("[...")));
}

TEST(Progress, TakesAwayALineThatANarrowerTerminalHasWrapped) {
  // 79 columns take two lines of 40, and one goes up.
  EXPECT_THAT(shown_at(80, 40), HasSubstr("\r\033[1A\033[J1/12 1 ok"));
  EXPECT_THAT(shown_at(80, 30), HasSubstr("\r\033[2A\033[J"));
  EXPECT_THAT(shown_at(40, 80), Not(HasSubstr("A\033[J")));
}

TEST(Progress, ColoursOutcomesWhereItMay) {
  ::testing::internal::CaptureStderr();
  Progress progress(true, {}, Colours(true));
  progress.run_started("toy-1", 1, 0);
  progress.case_started(0, "attention=naive");
  progress.case_finished(ended(0, Outcome::oom, "too large"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(": \033[31moom\033[0m ("));
}

TEST(Terminal, ShowsMarkdownWithoutItsSigns) {
  const std::string text = "**mine against naive**: 2× as fast \\| see [a case](x.md) at \\<1";
  EXPECT_EQ(plain_markdown(text, Colours(false)),
            "mine against naive: 2× as fast | see a case at <1");
  EXPECT_THAT(plain_markdown(text, Colours(true)), StartsWith("\033[1mmine against naive\033[0m:"));
}

store::Run run_of(std::vector<store::CaseResult> cases) {
  store::Run run;
  run.info.name = "toy-1";
  run.cases = std::move(cases);
  return run;
}

TEST(OutcomeSummary, CountsOutcomesAndTellsEachReasonOnce) {
  std::vector<store::CaseResult> cases = {ended(0, Outcome::ok, "")};
  for (std::int64_t i = 1; i < 7; ++i) {
    cases.push_back(
        ended(i, Outcome::oom, std::to_string(i) + " GiB were asked for, 2 GiB are free"));
  }
  cases.push_back(ended(7, Outcome::skipped, "no GPU"));
  EXPECT_EQ(outcome_summary({run_of(cases)}),
            "outcomes: 1 ok, 6 oom, 1 skipped\n"
            "  oom, cases 2, 3, 4, 5 and 2 more: 1 GiB were asked for, 2 GiB are free\n"
            "  skipped, case 8: no GPU\n");
  EXPECT_EQ(outcome_summary({run_of({cases[0]})}), "outcomes: 1 ok\n");
}

TEST(OutcomeSummary, TellsWhatStoppedOnePassOfACase) {
  store::CaseResult result = ended(0, Outcome::oom, "the backward pass needs more");
  result.series.resize(2);
  result.series[1].outcome = Outcome::unsupported;
  result.series[1].reason = "no double backward";
  EXPECT_EQ(outcome_summary({run_of({result})}),
            "outcomes: 1 oom\n  oom, case 1: the backward pass needs more\n"
            "  unsupported, case 1: no double backward\n");
}

TEST(OutcomeSummary, IsBounded) {
  std::vector<store::CaseResult> cases;
  for (std::int64_t i = 0; i < 13; ++i) {
    cases.push_back(ended(i, Outcome::error, "said " + std::string(1, static_cast<char>('a' + i))));
  }
  const std::string text = outcome_summary({run_of(cases)});
  EXPECT_THAT(text, StartsWith("outcomes: 13 error\n  error, case 1: said a\n"));
  EXPECT_THAT(text, HasSubstr("error, case 10: said j\n"
                              "  and 3 more reasons: `assay show toy-1` lists them\n"));
  EXPECT_THAT(text, Not(HasSubstr("said k")));
}

}  // namespace
}  // namespace assay::cli
