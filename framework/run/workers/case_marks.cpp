#include "run/workers/case_marks.h"

#include <algorithm>
#include <array>

#include "store/records/marks.h"

namespace assay::run {

namespace {

// Kinds whose variants do the work of a pass.
constexpr std::array working_kinds = {"attention", "norm", "communication", "compile"};

bool variants_work(const store::Parameters& parameters) {
  return std::ranges::any_of(working_kinds,
                             [&](const char* kind) { return parameters.contains(kind); });
}

std::string why_not_looked_at(const store::TimedLooksFacts& timed) {
  const std::string none = "none of its timed calls was compared with a reference: ";
  if (timed.left_out) return none + *timed.left_out;
  return none + (timed.renewed_inputs == 0 ? "the workload names no inputs that could be new"
                                           : "nothing is told of looks");
}

}  // namespace

nlohmann::json difference(const nlohmann::json& own, const nlohmann::json& other) {
  nlohmann::json differs = nlohmann::json::object();
  for (const auto& [name, value] : own.items()) {
    const auto found = other.find(name);
    const bool both = found != other.end() && value.is_object() && found->is_object();
    nlohmann::json part = both ? difference(value, *found) : value;
    const bool same = both ? part.empty() : found != other.end() && value == *found;
    if (!same) differs[name] = std::move(part);
  }
  return differs;
}

std::string tampered(store::CaseFacts& of_case) {
  const auto is_it = [](const store::Mark& mark) { return mark.mark == store::tampered_mark; };
  const auto first = std::ranges::find_if(of_case.marks, is_it);
  if (first == of_case.marks.end()) return {};
  std::string how = std::move(first->reason);
  std::erase_if(of_case.marks, is_it);
  return how;
}

bool add_marks(const store::CaseFacts& of_rank, store::CaseFacts& of_case) {
  for (const auto& [mark, reason] : of_rank.left_behind) {
    const bool known =
        std::any_of(of_case.marks.begin(), of_case.marks.end(),
                    [&, &mark = mark](const auto& earlier) { return earlier.mark == mark; });
    if (!known) of_case.marks.push_back({mark, "", reason});
  }
  return !of_rank.left_behind.empty();
}

void mark_not_looked_at(const wire::CaseRequest& request, CaseEnd& end) {
  for (const store::Series& series : end.series) {
    const bool is_time = series.metric == "time" && series.part.empty() && series.rank == 0;
    if (!is_time || series.outcome != Outcome::ok) continue;
    const store::TimedLooksFacts timed = store::looks_at(end.facts, series.pass);
    if (timed.looks.value_or(0) > 0) continue;
    const bool nothing_to_renew = timed.renewed_inputs == 0 && !timed.left_out;
    if (nothing_to_renew && !variants_work(request.parameters)) continue;
    end.facts.marks.push_back({store::not_looked_at, series.pass, why_not_looked_at(timed)});
  }
}

}  // namespace assay::run
