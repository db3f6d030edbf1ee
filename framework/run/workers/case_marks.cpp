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

bool add_marks(const nlohmann::json& rank_context, nlohmann::json& case_context) {
  const auto left = rank_context.find("left_behind");
  if (left == rank_context.end() || !left->is_object()) return false;
  bool any = false;
  for (const auto& [mark, reason] : left->items()) {
    if (!reason.is_string()) continue;
    any = true;
    nlohmann::json& marks = case_context["marks"];
    if (!marks.is_array()) marks = nlohmann::json::array();
    const bool told =
        std::any_of(marks.begin(), marks.end(), [&, &mark = mark](const nlohmann::json& earlier) {
          return earlier.is_object() && earlier.value("mark", "") == mark;
        });
    if (!told) marks.push_back({{"mark", mark}, {"pass", ""}, {"reason", reason}});
  }
  return any;
}

}  // namespace assay::run
