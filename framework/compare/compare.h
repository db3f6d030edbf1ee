#pragma once

// compare judges one side against another, case by case: pairing, verdicts with intervals, gates,
// and other differences. It depends on report/data and the store. Start here.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "compare/judge.h"
#include "store/records/marks.h"
#include "store/records/records.h"

namespace assay::compare {

// Cases of several runs with the same parameters are one case, whose samples come in the order of
// the runs.
struct Side {
  std::string name;  // as the user wrote it
  std::vector<store::Run> runs;
};

// Default deviation of a run's median between processes, as a fraction of it. GPU: from runs like
// those in reports/h200/same_twice; CPU: from six runs of 24 cases on two cores of a virtual
// machine, the middle of 10 to 22 %.
inline constexpr double between_runs_on_gpu = 0.015;
inline constexpr double between_runs_on_cpu = 0.15;

struct Question {
  std::string metric = "time";
  Criteria criteria;                   // each case has its own between_runs
  std::optional<double> between_runs;  // of all cases; nullopt: the defaults
};

// B against A. Lower times and higher rates (a unit per second) are faster; other metrics are lower
// or higher. Words are the same or changed. A part, such as a kernel, of a pass that both sides
// measured is added where only B has it, gone where only A has it.
enum class Verdict {
  faster,
  slower,
  lower,
  higher,
  same,
  changed,
  added,
  gone,
  inconclusive,
  not_compared
};

std::string_view to_text(Verdict verdict);
std::optional<Verdict> verdict_from(std::string_view text);
std::vector<std::string> verdict_names();
// The relation behind a verdict: "slower" is a higher time or a lower rate. nullopt: the unit
// cannot have the verdict.
std::optional<Relation> relation_meant(Verdict verdict, std::string_view unit);

// One side of a result: the samples of the slowest rank of each iteration, in `Result::unit`.
struct Figures {
  std::size_t n = 0;
  double median = 0;  // middle() of the runs (judge.h); NaN without samples
  std::string words;  // of a metric of kind text, distinct, joined with ", "
  std::vector<store::Mark> marks;
};

struct Row {
  // Whether numbers of both sides were compared.
  bool judged() const {
    return verdict != Verdict::not_compared && verdict != Verdict::added &&
           verdict != Verdict::gone && a.words.empty();
  }

  store::Parameters parameters;  // of A's case; of B's if only B has it
  std::string pass;              // "" if neither side has the metric for this case
  std::string part;
  std::string unit;
  Verdict verdict = Verdict::not_compared;
  Figures a;
  Figures b;
  Judgement judgement;  // NaN throughout if not compared, and of words
  std::string reason;   // if inconclusive or not compared
};

// "GPU driver", "570.1", "580.2".
struct Difference {
  std::string what;
  std::string a;  // several values are joined with ", "; "": unknown
  std::string b;
};

struct Comparison {
  std::string a;
  std::string b;
  Question question;
  std::vector<Difference> differences;
  std::vector<std::string> cautions;  // sentences on what the verdicts cannot see
  std::vector<Row> rows;              // in A's order, then the cases of B alone
};

// Name, start and host: equal for copies of one run.
std::string identity_of(const store::RunInfo& info);

// Pairs cases by their parameters (framework/base/case_key.h). Unpaired cases are then paired
// without the `measure.*` settings that are constant on each side, and last without all of them, if
// that leaves exactly one case on each side; such settings are among the differences. Every case
// has a row. Times whose samples sum different numbers of calls are not compared.
//
// Fails with ExitCode::bad_input if neither side has the metric, naming the known ones.
Result<Comparison> compare(const Side& a, const Side& b, const Question& question);

// "5%" or "0.5 %" as a fraction.
Result<double> parse_percentage(std::string_view text);

std::string percentage(double fraction);

}  // namespace assay::compare
