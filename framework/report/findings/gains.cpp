#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/findings/pairs.h"
#include "statistics/summary.h"

namespace assay::report {
namespace {

struct Gain {
  std::uint32_t code;
  double ratio;           // geometric mean
  double relative_error;  // of the ratio
  std::set<Key> cases;    // apart from the value
};

std::vector<Gain> gains_along(const Records& records, const BaselineComparison& comparison,
                              std::size_t axis, std::vector<std::size_t> own) {
  own.push_back(axis);
  std::map<std::uint32_t, std::vector<ComparedPair>>
      pairs;  // by value, as the experiment lists them
  for (const ComparedPair& pair : comparison.pairs)
    pairs[records.code(pair.record, axis)].push_back(pair);
  std::vector<Gain> gains;
  for (const auto& [code, of_value] : pairs) {
    std::vector<double> ratios;
    double squares = 0;
    std::set<Key> cases;
    for (const ComparedPair& pair : of_value) {
      ratios.push_back(pair.ratio);
      squares += pair.relative_error * pair.relative_error;
      cases.insert(rest_of(records, pair.record, own));
    }
    const double error = std::sqrt(squares) / static_cast<double>(ratios.size());
    gains.push_back({code, statistics::geometric_mean(ratios), error, std::move(cases)});
  }
  if (is_numeric_axis(records, axis)) {
    std::sort(gains.begin(), gains.end(), [&](const Gain& a, const Gain& b) {
      const auto& values = records.axes()[axis].values;
      return Cell::of_value(values[a.code]).number < Cell::of_value(values[b.code]).number;
    });
  }
  return gains;
}

// ", rising" if at least three gains of the same cases rise significantly at each step.
std::string trend_of(const std::vector<Gain>& gains) {
  const auto above = [](const Gain& a, const Gain& b) {
    return a.cases == b.cases &&
           std::log(a.ratio / b.ratio) >
               standard_errors * std::hypot(a.relative_error, b.relative_error);
  };
  int rises = 0, falls = 0;
  for (std::size_t i = 1; i < gains.size(); ++i) {
    rises += above(gains[i], gains[i - 1]);
    falls += above(gains[i - 1], gains[i]);
  }
  const int steps = static_cast<int>(gains.size()) - 1;
  return steps < 2 ? "" : rises == steps ? ", rising" : falls == steps ? ", falling" : "";
}

}  // namespace

std::string gains_text(const Records& records, const BaselineComparison& comparison,
                       std::size_t axis, const std::vector<std::size_t>& own) {
  std::vector<Gain> gains = gains_along(records, comparison, axis, own);
  if (gains.size() < 2) return {};
  const bool slower = comparison.ratio() < 1;
  const bool mixed = std::ranges::any_of(
      gains, [&](const Gain& gain) { return slower ? gain.ratio > 1 : gain.ratio < 1; });
  const std::string& name = records.axes()[axis].name;
  std::vector<std::string> parts;
  for (Gain& gain : gains) {
    parts.push_back(to_text(records.axes()[axis].values[gain.code]) + " " +
                    (mixed ? speed(gain.ratio) : times(gain.ratio)));
    if (slower && !mixed) gain.ratio = 1 / gain.ratio;  // the trend is that of the shown numbers
  }
  // Models are listed from the smallest on; other names have no order.
  const bool has_order = name == "model" || is_numeric_axis(records, axis);
  return fmt::format("by {}: {}{}", name, join(parts, ", "), has_order ? trend_of(gains) : "");
}

}  // namespace assay::report
