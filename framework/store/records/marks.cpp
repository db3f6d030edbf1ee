#include "store/records/marks.h"

#include <algorithm>

namespace assay::store {
namespace {

using nlohmann::json;

std::string text_at(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

const json* section(const CaseResult& result, const char* key) {
  if (!result.context.is_object()) return nullptr;
  const auto at = result.context.find(key);
  return at == result.context.end() ? nullptr : &*at;
}

bool concerns(const Mark& mark, const Series& series) {
  if (series.clock.empty()) return false;
  return mark.pass.empty() || (mark.pass == series.pass && series.metric == "time");
}

}  // namespace

std::vector<Mark> marks_of(const CaseResult& result) {
  std::vector<Mark> marks;
  const json* list = section(result, "marks");
  if (list == nullptr || !list->is_array()) return marks;
  for (const json& entry : *list) {
    if (!entry.is_object()) continue;
    Mark mark{text_at(entry, "mark"), text_at(entry, "pass"), text_at(entry, "reason")};
    if (!mark.mark.empty()) marks.push_back(std::move(mark));
  }
  return marks;
}

std::optional<Mark> ended_after_measuring(const CaseResult& result) {
  const bool told =
      std::any_of(result.series.begin(), result.series.end(),
                  [&](const Series& series) { return series.outcome == result.outcome; });
  if (result.outcome == Outcome::ok || result.series.empty() || told) return {};
  return Mark{std::string(to_text(result.outcome)), "",
              "after all was measured" + (result.reason.empty() ? "" : ": " + result.reason)};
}

std::vector<Mark> marks_of(const CaseResult& result, const Series& series) {
  std::vector<Mark> marks = marks_of(result);
  std::erase_if(marks, [&](const Mark& mark) { return !concerns(mark, series); });
  if (auto end = ended_after_measuring(result); end && series.outcome == Outcome::ok)
    marks.push_back(std::move(*end));
  return marks;
}

std::optional<Mark> discarded_for(const CaseResult& result, const Series& series) {
  if (series.clock.empty()) return {};
  const json* passes = section(result, "discarded");
  if (passes == nullptr || !passes->is_object()) return {};
  const std::string word = text_at(*passes, series.pass.c_str());
  if (word.empty()) return {};
  for (const Mark& mark : marks_of(result)) {
    if (mark.mark == word && concerns(mark, series)) return mark;
  }
  return {};
}

std::optional<Series> stand_in_for(const CaseResult& result, const Series& series) {
  const auto mark = series.outcome == Outcome::ok ? discarded_for(result, series) : std::nullopt;
  if (!mark) return {};
  Series stand_in = series;
  stand_in.samples.clear();
  stand_in.statistics.clear();
  stand_in.outcome = Outcome::skipped;
  stand_in.reason = "discarded: " + mark->reason;
  return stand_in;
}

void add_marks(json& context, const std::vector<Mark>& marks) {
  if (marks.empty()) return;
  json& list = context["marks"];
  if (!list.is_array()) list = json::array();
  for (const Mark& mark : marks) {
    list.push_back({{"mark", mark.mark}, {"pass", mark.pass}, {"reason", mark.reason}});
  }
}

}  // namespace assay::store
