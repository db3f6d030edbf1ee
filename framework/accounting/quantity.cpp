#include "accounting/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

namespace assay::accounting {

namespace {

std::string number_text(double value) {
  constexpr double exact = 9007199254740992;  // 2^53
  if (value == std::floor(value) && std::fabs(value) < exact) return fmt::format("{:.0f}", value);
  return fmt::format("{:.9g}", value);
}

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string substituted(const std::string& formula, const Values& values) {
  std::string text;
  for (std::size_t at = 0; at < formula.size();) {
    std::size_t end = at + 1;
    if (!in_name(formula[at])) {
      text += formula[at];
      at = end;
      continue;
    }
    while (end < formula.size() && (in_name(formula[end]) || formula[end] == '.')) ++end;
    const std::string word = formula.substr(at, end - at);
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const auto& each) { return each.first == word; });
    const bool replaced = begins_name(word.front()) && found != values.end();
    text += replaced ? number_text(found->second) : word;
    at = end;
  }
  return text;
}

Quantity quantity(std::string name, std::string unit, std::string formula, const Values& values,
                  double value, std::string source) {
  std::string with_values = substituted(formula, values);
  return {std::move(name),        std::move(unit), std::move(formula),
          std::move(with_values), value,           std::move(source)};
}

Quantity sum(std::string name, const Quantities& terms) {
  Quantity whole{std::move(name), terms.empty() ? "" : terms.front().unit, "", "", 0};
  for (const Quantity& term : terms) {
    const char* plus = whole.formula.empty() ? "" : " + ";
    whole.formula += plus + term.name;
    whole.substitution += plus + number_text(term.value);
    whole.value += term.value;
  }
  return whole;
}

const Quantity& named(const Quantities& quantities, const std::string& name) {
  for (const Quantity& each : quantities) {
    if (each.name == name) return each;
  }
  throw std::out_of_range("there is no quantity '" + name + "'");
}

double value_of(const Quantities& quantities, const std::string& name) {
  return named(quantities, name).value;
}

}  // namespace assay::accounting
