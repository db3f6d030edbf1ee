#include "report/unit_check.h"

#include <cmath>
#include <set>

#include "report/units.h"

namespace assay::report {
namespace {

std::optional<double> evaluate(const Expression& expression, const std::vector<std::string>& units,
                               const std::string& scaled, double factor) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const double value = 1.37 + 0.61 * static_cast<double>(i);
    values.emplace_back(units[i] == scaled ? value * factor : value);
  }
  const auto result = expression.evaluate(values);
  if (!result) return std::nullopt;
  if (const auto* real = std::get_if<double>(&*result)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&*result)) return static_cast<double>(*whole);
  return std::nullopt;
}

bool grows_by_a_power(const Expression& expression, const std::vector<std::string>& units,
                      const std::string& unit) {
  const auto one = evaluate(expression, units, unit, 1);
  const auto two = evaluate(expression, units, unit, 2);
  const auto four = evaluate(expression, units, unit, 4);
  if (!one || !two || !four || *one == 0 || *two == 0) return true;
  return std::abs(*two / *one - *four / *two) <= 1e-9 * std::abs(*two / *one);
}

}  // namespace

std::optional<std::string> mixed_units(const Expression& expression,
                                       const std::vector<std::string>& units) {
  std::set<std::string> distinct(units.begin(), units.end());
  distinct.erase("");
  for (auto a = distinct.begin(); a != distinct.end(); ++a) {
    for (auto b = std::next(a); b != distinct.end(); ++b) {
      if (same_dimension(*a, *b)) return *a + " and " + *b;
    }
  }
  if (distinct.size() < 2) return std::nullopt;
  for (const std::string& unit : distinct) {
    if (grows_by_a_power(expression, units, unit)) continue;
    std::string names;
    for (const std::string& name : distinct) names += (names.empty() ? "" : " and ") + name;
    return names;
  }
  return std::nullopt;
}

}  // namespace assay::report
