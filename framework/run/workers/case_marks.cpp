#include "run/workers/case_marks.h"

#include <algorithm>

namespace assay::run {

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

}  // namespace assay::run
