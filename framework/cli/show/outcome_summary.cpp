#include "cli/show/outcome_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "report/data/cell.h"

namespace assay::cli {

namespace {

constexpr std::size_t most_reasons = 10;
constexpr std::size_t most_cases_named = 4;

struct Cause {
  Outcome outcome;
  std::string reason;
  std::vector<std::string> cases;  // "3", or "toy-2 3" where there are several runs
};

class Summary {
 public:
  explicit Summary(const std::vector<store::Run>& runs) {
    runs_ = runs.size() == 1 ? runs[0].info.name : "RUN";
    for (const store::Run& run : runs) {
      for (const store::CaseResult& result : run.cases) {
        ++outcomes_[result.outcome];
        const std::string number = std::to_string(result.ordinal + 1);
        const std::string name = runs.size() > 1 ? run.info.name + " " + number : number;
        add(result.outcome, result.reason, name);
        for (const store::Series& series : result.series) {
          add(series.outcome, series.reason, name);
        }
      }
    }
  }

  std::string text() const {
    if (outcomes_.empty()) return "";
    std::vector<std::string> counts;
    for (const auto& [outcome, count] : outcomes_) {
      counts.push_back(fmt::format("{} {}", count, to_text(outcome)));
    }
    std::string text = fmt::format("outcomes: {}\n", join(counts, ", "));
    for (std::size_t i = 0; i < std::min(causes_.size(), most_reasons); ++i) {
      text += "  " + line_of(causes_[i]) + "\n";
    }
    if (causes_.size() > most_reasons) {
      const std::size_t more = causes_.size() - most_reasons;
      text += fmt::format("  and {} more {}: `assay show {}` lists them\n", more,
                          more == 1 ? "reason" : "reasons", runs_);
    }
    return text;
  }

 private:
  void add(Outcome outcome, const std::string& reason, const std::string& name) {
    if (outcome == Outcome::ok) return;
    const auto [place, is_new] =
        places_.try_emplace({outcome, report::without_numbers(reason)}, causes_.size());
    if (is_new) causes_.push_back({outcome, reason, {}});
    std::vector<std::string>& cases = causes_[place->second].cases;
    if (cases.empty() || cases.back() != name) cases.push_back(name);
  }

  static std::string line_of(const Cause& cause) {
    const std::size_t named = std::min(cause.cases.size(), most_cases_named);
    std::string cases =
        join({cause.cases.begin(), cause.cases.begin() + static_cast<std::ptrdiff_t>(named)}, ", ");
    if (cause.cases.size() > named)
      cases += fmt::format(" and {} more", cause.cases.size() - named);
    std::string reason = cause.reason.empty() ? "no reason was given" : cause.reason;
    for (std::size_t at = 0; (at = reason.find('\n', at)) != std::string::npos; at += 5) {
      reason.replace(at, 1, "\n    ");
    }
    return fmt::format("{}, {} {}: {}", to_text(cause.outcome),
                       cause.cases.size() == 1 ? "case" : "cases", cases, reason);
  }

  std::string runs_;  // the argument of `assay show`
  std::map<Outcome, std::size_t> outcomes_;
  std::vector<Cause> causes_;
  std::map<std::pair<Outcome, std::string>, std::size_t> places_;  // in causes_
};

}  // namespace

std::string outcome_summary(const std::vector<store::Run>& runs) { return Summary(runs).text(); }

}  // namespace assay::cli
