#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/findings/pairs.h"
#include "statistics/summary.h"

namespace assay::report {
namespace {

// The times of one variant and pass by an option's value, over cases that have every value.
struct OptionTimes {
  std::uint32_t record = 0;  // one of them
  std::map<std::uint32_t, std::vector<Figure>> by_value;

  std::vector<double> times(std::uint32_t code) const {
    std::vector<double> values;
    for (const Figure& figure : by_value.at(code)) values.push_back(figure.value);
    return values;
  }
};

bool is_option_of_variant(const std::string& name) {
  return std::ranges::any_of(variant_kinds, [&](std::string_view kind) {
    return name.starts_with(std::string(kind) + ".");
  });
}

using Case = std::map<std::uint32_t, Figure>;  // by the option's value

// Cases that differ in the option alone, by variant and pass in the order of their first figure.
std::vector<std::vector<Case>> cases_along(const Records& records,
                                           const std::vector<Figure>& figures, std::size_t option,
                                           std::size_t variant) {
  std::map<Key, Case> cases;
  for (const Figure& figure : figures) {
    const std::uint32_t code = records.code(figure.record, option);
    if (code == 0 || !(figure.value > 0)) continue;
    cases[rest_of(records, figure.record, {option})].emplace(code, figure);
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Case>> groups;
  for (auto& [rest, one] : cases) {
    const std::uint32_t record = one.begin()->second.record;
    groups[{records.code(record, variant), records.code(record, pass_axis)}].push_back(
        std::move(one));
  }
  std::vector<std::vector<Case>> ordered;
  for (auto& [key, group] : groups) ordered.push_back(std::move(group));
  std::ranges::sort(ordered, {}, [](const std::vector<Case>& group) {
    return group.front().begin()->second.record;
  });
  return ordered;
}

// Of the cases that have every value which one of them has.
OptionTimes times_of(const std::vector<Case>& cases) {
  std::size_t values = 0;
  for (const Case& one : cases) values = std::max(values, one.size());
  OptionTimes times;
  times.record = cases.front().begin()->second.record;
  for (const Case& one : cases) {
    if (one.size() < values) continue;
    for (const auto& [code, figure] : one) times.by_value[code].push_back(figure);
  }
  if (times.by_value.size() != values) times.by_value.clear();
  return times;
}

// Whether most cases differ by more than their noise.
bool mostly_differ(const std::vector<Figure>& a, const std::vector<Figure>& b) {
  std::size_t certain = 0;
  for (std::size_t i = 0; i < a.size(); ++i) certain += certainly_differ(a[i], b[i]) ? 1 : 0;
  return 2 * certain > a.size();
}

Finding finding_of(const Records& records, const OptionTimes& group, std::size_t option,
                   std::size_t variant) {
  std::vector<std::pair<double, std::uint32_t>> order;  // geometric mean of the times, code
  for (const auto& [code, figures] : group.by_value) {
    order.emplace_back(statistics::geometric_mean(group.times(code)), code);
  }
  std::ranges::sort(order);
  const auto value = [&](std::size_t place) {
    return to_text(records.axes()[option].values[order[place].second]);
  };
  const auto figures = [&](std::size_t place) -> const std::vector<Figure>& {
    return group.by_value.at(order[place].second);
  };
  if (!mostly_differ(figures(0), figures(order.size() - 1))) return {};
  const std::string& axis = records.axes()[option].name;
  const std::string pass = to_text(records.value(group.record, pass_axis));
  std::size_t equal = 1;
  while (!mostly_differ(figures(0), figures(equal))) ++equal;
  std::vector<std::string> best;
  for (std::size_t place = 0; place < equal; ++place) best.push_back(value(place));
  const double gain = order[equal].first / order[0].first;
  const std::size_t cases = figures(0).size();
  std::string claim =
      fmt::format("**best {}: {}** for {}{}: {} than {}{}.", axis.substr(axis.rfind('.') + 1),
                  join(best, " or "), to_text(records.value(group.record, variant)),
                  pass.empty() ? "" : ", " + pass, speed(gain), value(equal),
                  cases > 1 ? fmt::format(" (geometric mean of {} cases)", cases) : "");
  const std::size_t last = order.size() - 1;
  return {std::move(claim), "", std::log(order[last].first / order[0].first)};
}

}  // namespace

Findings best_option_findings(const Records& records, const std::vector<Figure>& figures) {
  Findings findings;
  for (std::size_t option = std::size(series_axes); option < records.first_derived(); ++option) {
    const std::string& name = records.axes()[option].name;
    if (!is_option_of_variant(name) || records.axes()[option].values.size() < 3) continue;
    const auto variant = records.axis(name.substr(0, name.find('.')));
    if (!variant) continue;
    for (const std::vector<Case>& cases : cases_along(records, figures, option, *variant)) {
      const OptionTimes group = times_of(cases);
      if (group.by_value.size() < 2) continue;
      Finding finding = finding_of(records, group, option, *variant);
      if (!finding.claim.empty()) findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace assay::report
