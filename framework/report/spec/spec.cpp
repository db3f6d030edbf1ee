#include "report/spec/spec.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/outcome.h"
#include "base/text.h"
#include "store/records/units.h"

namespace assay::report {
namespace {

std::optional<double> number_of(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0') return std::nullopt;
  return value;
}

}  // namespace

bool names_value(std::string_view text, const Value& value) {
  if (to_text(value) == text) return true;
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  if (!whole && !real) return false;
  const double number = whole ? static_cast<double>(*whole) : *real;
  if (const auto written = number_of(text)) return *written == number;
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  if (const auto size = parse_size(text)) return static_cast<double>(*size) == number;
  if (const auto duration = parse_duration(text)) return *duration == number;
  return false;
}

const Condition* Filter::on(std::string_view axis) const {
  for (const Condition& condition : conditions) {
    if (condition.axis == axis) return &condition;
  }
  return nullptr;
}

void Filter::add(const Filter& other) {
  conditions.insert(conditions.end(), other.conditions.begin(), other.conditions.end());
  expressions.insert(expressions.end(), other.expressions.begin(), other.expressions.end());
}

void GridSpec::add_key(const std::string& axis) {
  if (!std::ranges::count(keys, axis)) keys.push_back(axis);
}

bool Vocabulary::is_text(std::string_view name) const {
  const MetricInfo* info = metric(name);
  return info != nullptr && info->kind == MetricKind::text;
}

bool Vocabulary::has_axis(std::string_view name) const {
  return open || std::find(axes.begin(), axes.end(), name) != axes.end();
}

void Vocabulary::add_values(const std::string& axis, const std::vector<Value>& distinct) {
  std::vector<Value>& known = values[axis];
  std::copy_if(distinct.begin(), distinct.end(), std::back_inserter(known),
               [](const Value& value) { return !std::holds_alternative<std::monostate>(value); });
}

void Vocabulary::add_value(const std::string& axis, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return;
  std::vector<Value>& known = values[axis];
  if (std::find(known.begin(), known.end(), value) == known.end()) known.push_back(value);
}

bool Vocabulary::has_unit(const std::string& name) const {
  return store::unit_named(name) || metric(name) ||
         std::any_of(metrics.begin(), metrics.end(), [&](const MetricInfo& metric) {
           return metric.unit == name || metric.unit + "/s" == name;
         });
}

const MetricInfo* Vocabulary::metric(std::string_view name) const {
  for (const MetricInfo& metric : metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

const std::vector<std::string>& cell_text_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> words = outcome_names();
    std::erase(words, to_text(Outcome::ok));
    words.insert(words.end(), {"missing", "undefined"});
    return words;
  }();
  return keys;
}

std::string default_cell_text(const std::string& key) {
  if (key == "missing") return "";
  if (key == "undefined" || key == "unsupported") return "N/A";
  std::string upper = key;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

}  // namespace assay::report
