#include "report/findings/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "report/spec/numbers.h"
#include "statistics/summary.h"

namespace assay::report {
namespace {

constexpr std::string_view usual_baselines[] = {"naive", "eager", "fp32", "none", "layernorm"};
constexpr double as_fast_within = 0.005;

std::string variant_name(const Records& records, std::uint32_t record,
                         const std::vector<std::size_t>& own) {
  std::vector<std::string> options;
  for (std::size_t i = 1; i < own.size(); ++i) {
    const std::string text = to_text(records.value(record, own[i]));
    const std::string& name = records.axes()[own[i]].name;
    if (!text.empty() && records.varies(own[i]))
      options.push_back(name.substr(name.rfind('.') + 1) + " " + text);
  }
  const std::string name = to_text(records.value(record, own.front()));
  return options.empty() ? name : name + " (" + join(options, ", ") + ")";
}

double relative_error(const Figure& a, const Figure& b) {
  return std::hypot(a.error / a.value, b.error / b.value);
}

}  // namespace

double BaselineComparison::ratio() const {
  std::vector<double> ratios;
  for (const ComparedPair& pair : pairs) ratios.push_back(pair.ratio);
  return statistics::geometric_mean(ratios);
}

std::string times(double ratio) { return rounded_text(ratio < 1 ? 1 / ratio : ratio) + "×"; }

std::string speed(double ratio) {
  if (std::abs(std::log(ratio)) < as_fast_within) return "as fast";
  return times(ratio) + (ratio > 1 ? " faster" : " slower");
}

std::string speed_range(double least, double most) {
  if (least < 1 && most > 1) return fmt::format("{} to {}", speed(least), speed(most));
  const bool slower = most <= 1;
  const double near = slower ? 1 / most : least;
  const double far = slower ? 1 / least : most;
  return times(near) == times(far) ? times(far)
                                   : fmt::format("{}–{}", rounded_text(near), times(far));
}

std::uint32_t baseline_code(const Records& records, std::size_t axis, const std::string& wanted) {
  const auto& values = records.axes()[axis].values;
  const auto code_of = [&](std::string_view name) -> std::uint32_t {
    for (std::uint32_t code = 1; code < values.size(); ++code) {
      if (names_value(name, values[code])) return code;
    }
    return 0;
  };
  if (!wanted.empty()) return code_of(wanted);
  for (const std::string_view name : usual_baselines) {
    if (const std::uint32_t code = code_of(name)) return code;
  }
  return 1;
}

bool certainly_differ(const Figure& a, const Figure& b) {
  if (std::isnan(a.error) || std::isnan(b.error)) return a.value != b.value;
  return std::abs(a.value - b.value) > standard_errors * std::hypot(a.error, b.error);
}

std::vector<BaselineComparison> compare_with_baseline(const Records& records,
                                                      const std::vector<Figure>& figures,
                                                      const std::vector<std::size_t>& own,
                                                      std::uint32_t baseline) {
  const std::size_t axis = own.front();
  const std::size_t pass = *records.axis("pass");
  std::unordered_map<Key, const Figure*, KeyHash> bases;
  for (const Figure& figure : figures) {
    if (records.code(figure.record, axis) == baseline)
      bases[rest_of(records, figure.record, own)] = &figure;
  }
  std::vector<BaselineComparison> comparisons;
  for (const Figure& figure : figures) {
    const std::uint32_t code = records.code(figure.record, axis);
    const auto base = bases.find(rest_of(records, figure.record, own));
    if (code == baseline || code == 0 || base == bases.end() || !(figure.value > 0) ||
        !(base->second->value > 0)) {
      continue;
    }
    const std::string name = variant_name(records, figure.record, own);
    const std::string pass_name = to_text(records.value(figure.record, pass));
    auto at =
        std::find_if(comparisons.begin(), comparisons.end(), [&](const BaselineComparison& known) {
          return known.variant == name && known.pass == pass_name;
        });
    if (at == comparisons.end()) {
      comparisons.push_back({name, pass_name, {}});
      at = std::prev(comparisons.end());
    }
    std::set<std::string> marks = figure.marks;
    marks.insert(base->second->marks.begin(), base->second->marks.end());
    at->pairs.push_back({figure.record, base->second->value / figure.value,
                         relative_error(figure, *base->second),
                         certainly_differ(figure, *base->second),
                         figure.unverified || base->second->unverified, std::move(marks)});
  }
  return comparisons;
}

}  // namespace assay::report
