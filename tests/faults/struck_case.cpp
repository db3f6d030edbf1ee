#include "struck_case.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "base/text.h"

namespace assay::faults {

namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;

struct ProgressLine {
  std::string outcome;
  std::vector<std::string> marks;
  std::string rest;  // from the reason on
};

std::optional<ProgressLine> progress_of(const std::string& errors, std::size_t place,
                                        std::size_t cases) {
  const std::string begin = fmt::format("\n{}/{} ", place + 1, cases);
  const std::string text = "\n" + errors;
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return {};
  const std::string rest = text.substr(at + begin.size());
  static const std::regex head(R"([^\n]*?: ([a-z]+)((?:, [a-z ]+)*) \([^)]*\)(?:: )?)");
  std::smatch found;
  if (!std::regex_search(rest, found, head, std::regex_constants::match_continuous)) return {};
  ProgressLine line{found[1], {}, found.suffix()};
  for (const std::string& mark : split(found[2].str(), ',')) {
    if (!mark.empty()) line.marks.push_back(mark.substr(1));
  }
  return line;
}

// A report escapes text for a table and keeps it on one line.
std::string as_in_a_report(const std::string& reason) {
  std::string text;
  for (const char letter : reason) {
    if (letter == '|' || letter == '<') text += '\\';
    text += letter == '\n' || letter == '\r' ? ' ' : letter;
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

MATCHER_P2(IsALine, head, end, "begins with '" + head + "' and ends with '" + end + "'") {
  return arg.starts_with(head) && arg.ends_with(end);
}

// Below a table as the outcome in a cell, or as the mark of a case that failed after it was
// measured; and among the findings.
void expect_failure_in(const std::string& report, const std::string& outcome,
                       const std::string& reason) {
  const auto lines = lines_of(report);
  const std::string words = as_in_a_report(reason);
  EXPECT_THAT(lines,
              Contains(::testing::AnyOf(IsALine("- **" + outcome + "** (", "): " + words),
                                        IsALine("- **† " + outcome + "** (", ": " + words))));
  EXPECT_THAT(lines, Contains(IsALine("- **" + outcome + "**: 1 of ", ": " + words + ".")));
  EXPECT_THAT(report, ContainsRegex("\\*\\*cases\\*\\*: .*[(, ]1 " + outcome + "[,)]"));
}

// "outcomes: 2 ok, 1 oom", and a line with the case and its reason.
void expect_summary(const std::string& output, const store::Run& run,
                    const store::CaseResult& struck) {
  std::map<Outcome, int> outcomes;
  for (const auto& result : run.cases) ++outcomes[result.outcome];
  std::vector<std::string> counts;
  for (const auto& [outcome, count] : outcomes) {
    counts.push_back(fmt::format("{} {}", count, to_text(outcome)));
  }
  const auto lines = lines_of(output);
  EXPECT_THAT(lines, Contains("outcomes: " + join(counts, ", "))) << "the summary";
  const std::string head =
      fmt::format("  {}, case {}: ", to_text(struck.outcome), struck.ordinal + 1);
  const std::string first = struck.reason.substr(0, struck.reason.find('\n'));
  const bool is_named = struck.outcome != Outcome::ok;
  EXPECT_THAT(lines, ::testing::Conditional(is_named, Contains(head + first), ::testing::_))
      << "the summary";
}

std::string reason_of_mark(const store::CaseResult& result, const std::string& mark) {
  for (const store::Mark& one : result.facts.marks) {
    if (one.mark == mark) return one.reason;
  }
  return "no such mark in " + to_json(result.facts).dump();
}

void expect_the_mark(const store::CaseResult& result, const ProgressLine& line,
                     const std::string& report, const Struck& struck) {
  const std::string reason = reason_of_mark(result, struck.mark);
  EXPECT_THAT(reason, ContainsRegex(struck.mark_reason));
  EXPECT_THAT(line.marks, Contains(struck.mark));
  EXPECT_THAT(lines_of(report),
              Contains(IsALine("- **† " + struck.mark + "** (", ": " + as_in_a_report(reason))));
}

}  // namespace

std::optional<store::CaseResult> expect_told_everywhere(const Trial& trial, const End& end,
                                                        const Struck& struck) {
  trial.expect_sound();
  const auto run = trial.stored();
  EXPECT_EQ(run.cases.size(), struck.cases) << end.errors;
  if (run.cases.size() != struck.cases) return {};
  for (std::size_t place = 0; place < struck.cases; ++place) {
    const auto line = progress_of(end.errors, place, struck.cases);
    EXPECT_TRUE(line) << "case " << place + 1 << " has no progress line in:\n" << end.errors;
    if (!line) return {};
    const std::string outcome(to_text(run.cases[place].outcome));
    EXPECT_EQ(line->outcome, outcome);
    if (place != struck.place) {
      EXPECT_EQ(outcome, "ok") << run.cases[place].reason;
    }
  }
  const auto& result = run.cases[struck.place];
  const auto line = *progress_of(end.errors, struck.place, struck.cases);
  const std::string outcome(to_text(result.outcome));
  EXPECT_EQ(outcome, struck.outcome) << result.reason;
  EXPECT_THAT(result.reason, ContainsRegex(struck.reason));
  const std::string told = line.rest.substr(0, result.reason.size() + 1);
  EXPECT_EQ(told, result.reason.empty() ? "\n" : result.reason + "\n") << "the progress line";

  expect_summary(end.output, run, result);
  const bool fails = outcome != "ok" && outcome != "unsupported";
  EXPECT_EQ(end.exit_code, fails ? 1 : 0) << end.output << end.errors;
  const std::string report = trial.folder().read("results/" + run.info.name + "/report.md");
  const bool late =
      std::none_of(result.series.begin(), result.series.end(),
                   [&](const store::Series& series) { return series.outcome == result.outcome; });
  if (fails)
    expect_failure_in(report, outcome, (late ? "after all was measured: " : "") + result.reason);
  if (!struck.mark.empty()) expect_the_mark(result, line, report, struck);
  return result;
}

void record_struck(const Trial& trial, const std::string& done, const store::CaseResult& result,
                   const Struck& struck) {
  const bool marked = result.reason.empty() && !struck.mark.empty();
  trial.record(
      done, fmt::format("`{}`{}", to_text(result.outcome), marked ? ", `" + struck.mark + "`" : ""),
      marked ? reason_of_mark(result, struck.mark) : result.reason,
      fmt::format("{0} of {0} ok", struck.cases - 1), struck.may_vary);
}

}  // namespace assay::faults
