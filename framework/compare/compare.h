#pragma once

// compare sets two sides against each other case by case: pairing, the verdict with its interval,
// gates, and what else differed. It depends on report/data and the store. Start here.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "compare/judge.h"
#include "store/records/marks.h"
#include "store/records/records.h"

namespace assay::compare {

// Runs taken together: cases with the same parameters are one case, whose samples follow each other
// in the order of the runs.
struct Side {
  std::string name;  // as the user wrote it
  std::vector<store::Run> runs;
};

// By how much the median of a single run is supposed to deviate from process to process, where the
// question does not say: on an H200 by runs like those in reports/h200/same_twice; on two cores of
// a virtual machine in six runs of 24 cases, the middle of 10 to 22 %.
inline constexpr double between_runs_on_gpu = 0.015;
inline constexpr double between_runs_on_cpu = 0.15;

struct Question {
  std::string metric = "time";
  Criteria criteria;                   // whose between_runs is chosen for each case
  std::optional<double> between_runs;  // for all of them
};

// B against A. A time is faster when it is lower, a rate (a unit per second) when it is higher;
// other metrics are lower or higher.
enum class Verdict { faster, slower, lower, higher, same, inconclusive, not_compared };

std::string_view to_text(Verdict verdict);
std::optional<Verdict> verdict_from(std::string_view text);
std::vector<std::string> verdict_names();
// What the ratio is where a result in the unit has the verdict: "slower" is higher of a time, lower
// of a rate. Nothing where none can have it.
std::optional<Relation> relation_meant(Verdict verdict, std::string_view unit);

// One side of a result: the samples of the slowest rank of each iteration, in `Result::unit`.
struct Figures {
  std::size_t n = 0;
  double median = 0;               // middle() of the runs (judge.h); NaN where there are no samples
  std::vector<store::Mark> marks;  // why they deserve less trust
};

// One pass (and part) of one case.
struct Row {
  store::Parameters parameters;  // of the case as A has it; as B has it where only B does
  std::string pass;              // "" for a case that has nothing of the metric on either side
  std::string part;
  std::string unit;
  Verdict verdict = Verdict::not_compared;
  Figures a;
  Figures b;
  Judgement judgement;  // NaN all over where not compared
  std::string reason;   // of what is inconclusive or not compared
};

// What was not the same when the two sides were measured: "GPU driver", "570.1", "580.2".
struct Difference {
  std::string what;
  std::string a;  // several values are joined with ", "; "" where it is not known
  std::string b;
};

struct Comparison {
  std::string a;
  std::string b;
  Question question;
  std::vector<Difference> differences;
  // What the verdicts cannot see, a sentence each: that each side is a single run, and so of one
  // process; that both hold the same measurements.
  std::vector<std::string> cautions;
  std::vector<Row> rows;  // in A's order, then what only B has
};

// Which measuring a run is: its name, begin and host.
std::string identity_of(const store::RunInfo& info);

// Pairs cases by their parameters (framework/base/case_key.h). What is then left over on both sides
// is paired without those `measure.*` settings that do not tell cases of a side apart, then without
// any, where that names exactly one case on each; the settings are then among the differences.
// Every case of either side has a row. Times of samples that sum other numbers of calls are not
// compared.
//
// Fails with ExitCode::bad_input when neither side has the metric, naming those that there are.
Result<Comparison> compare(const Side& a, const Side& b, const Question& question);

// "5%" or "0.5 %" as a fraction.
Result<double> parse_percentage(std::string_view text);

}  // namespace assay::compare
