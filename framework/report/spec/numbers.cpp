#include "report/spec/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::report {
namespace {

constexpr int digits_of_uncertainty = 2;
constexpr int most_decimals = 12;
constexpr double least_plain = 1e-4;
constexpr double least_uncertainty = 1e-10;
constexpr double separated_from = 10000;
constexpr double most_plain = 1e15;

// 23,456.7: separators left of the point.
std::string separated(std::string digits) {
  const std::size_t begin = digits.starts_with('-') ? 1 : 0;
  const std::size_t end = std::min(digits.find('.'), digits.size());
  for (std::size_t at = end; at > begin + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

// The power of ten of the first digit, after rounding to `digits` of them.
int power_of(double value, int digits) {
  const std::string text = fmt::format("{:.{}e}", std::abs(value), digits - 1);
  return std::stoi(text.substr(text.find('e') + 1));
}

std::string fixed(double value, int decimals) {
  const std::string text = fmt::format("{:.{}f}", value, std::clamp(decimals, 0, most_decimals));
  return std::abs(value) >= separated_from ? separated(text) : text;
}

std::string without_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

bool is_plain(double value) {
  return value == 0 || (std::abs(value) >= least_plain && std::abs(value) < most_plain);
}

int decimals_of_uncertainty(double uncertainty) {
  return digits_of_uncertainty - 1 - power_of(uncertainty, digits_of_uncertainty);
}

}  // namespace

std::string figure_text(double value, std::optional<double> uncertainty, int most_digits) {
  if (!std::isfinite(value) || !is_plain(value)) {
    return fmt::format("{:.{}g}", value, digits_of_figure);
  }
  const int decimals = most_digits - 1 - power_of(value, most_digits);
  if (uncertainty && *uncertainty >= least_uncertainty && *uncertainty < most_plain) {
    return fixed(value, std::min(decimals_of_uncertainty(*uncertainty), decimals));
  }
  if (value == std::floor(value)) return number_text(value);
  return without_zeros(fixed(value, decimals));
}

std::string uncertainty_text(double uncertainty) {
  if (!std::isfinite(uncertainty)) return fmt::format("{}", uncertainty);
  if (uncertainty == 0) return "0";
  if (uncertainty < least_uncertainty || uncertainty >= most_plain)
    return fmt::format("{:.{}g}", uncertainty, digits_of_uncertainty);
  const int decimals = decimals_of_uncertainty(uncertainty);
  if (decimals >= 0) return fixed(uncertainty, decimals);
  return rounded_text(uncertainty, digits_of_uncertainty);
}

std::string rounded_text(double value, int digits) {
  if (!std::isfinite(value) || !is_plain(value)) return fmt::format("{:.{}g}", value, digits);
  const int decimals = digits - 1 - power_of(value, digits);
  if (decimals >= 0) return without_zeros(fixed(value, decimals));
  const double step = std::pow(10.0, -decimals);
  return fixed(std::round(value / step) * step, 0);
}

std::string number_text(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < most_plain;
  return whole ? fixed(value, 0) : fmt::format("{:g}", value);
}

}  // namespace assay::report
