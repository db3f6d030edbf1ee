#include "report/spec/unit_check.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "report/spec/units.h"

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

// The power of `unit` in the expression; nullopt: not a power.
std::optional<double> power_of(const Expression& expression, const std::vector<std::string>& units,
                               const std::string& unit) {
  const auto one = evaluate(expression, units, unit, 1);
  const auto two = evaluate(expression, units, unit, 2);
  const auto four = evaluate(expression, units, unit, 4);
  if (!one || !two || !four || *one == 0 || *two == 0) return 0.0;
  if (std::abs(*two / *one - *four / *two) > 1e-9 * std::abs(*two / *one)) return std::nullopt;
  return std::log2(std::abs(*two / *one));
}

std::set<std::string> distinct_units(const std::vector<std::string>& units) {
  std::set<std::string> distinct(units.begin(), units.end());
  distinct.erase("");
  return distinct;
}

// nullopt: some unit has no power.
std::optional<std::vector<double>> powers_of(const Expression& expression,
                                             const std::vector<std::string>& units) {
  std::vector<double> powers;
  for (const std::string& unit : distinct_units(units)) {
    const auto power = power_of(expression, units, unit);
    if (!power) return std::nullopt;
    powers.push_back(*power);
  }
  return powers;
}

bool is_plain(const std::vector<double>& powers) {
  return std::all_of(powers.begin(), powers.end(),
                     [](double power) { return std::abs(power) < 1e-9; });
}

bool alike(const std::vector<double>& left, const std::vector<double>& right) {
  return std::equal(left.begin(), left.end(), right.begin(),
                    [](double a, double b) { return std::abs(a - b) < 1e-9; });
}

std::string in_words(const std::set<std::string>& units) {
  return join({units.begin(), units.end()}, " and ");
}

}  // namespace

std::optional<std::string> mixed_comparison(const Expression& expression,
                                            const std::vector<std::string>& units) {
  const std::set<std::string> distinct = distinct_units(units);
  if (distinct.size() < 2) return std::nullopt;
  for (const auto& [left, right] : expression.comparisons()) {
    const auto a = powers_of(left, units), b = powers_of(right, units);
    if (!a || !b || (!is_plain(*a) && !is_plain(*b) && !alike(*a, *b))) return in_words(distinct);
  }
  return std::nullopt;
}

std::optional<std::string> mixed_units(const Expression& expression,
                                       const std::vector<std::string>& units) {
  const std::set<std::string> distinct = distinct_units(units);
  for (auto a = distinct.begin(); a != distinct.end(); ++a) {
    for (auto b = std::next(a); b != distinct.end(); ++b) {
      if (same_dimension(*a, *b)) return *a + " and " + *b;
    }
  }
  if (distinct.size() < 2) return std::nullopt;
  if (!powers_of(expression, units)) return in_words(distinct);
  return mixed_comparison(expression, units);
}

}  // namespace assay::report
