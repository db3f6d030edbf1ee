#include "store/records/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace assay::store {
namespace {

struct NamedUnit {
  std::string_view name;
  std::string_view base;
  int decimal;
  int binary;
};

constexpr std::array<NamedUnit, 49> units{{
    {"s", "s", 0, 0},
    {"ms", "s", -3, 0},
    {"us", "s", -6, 0},
    {"\u00b5s", "s", -6, 0},
    {"\u03bcs", "s", -6, 0},
    {"ns", "s", -9, 0},
    {"byte", "byte", 0, 0},
    {"bytes", "byte", 0, 0},
    {"B", "byte", 0, 0},
    {"kB", "byte", 3, 0},
    {"MB", "byte", 6, 0},
    {"GB", "byte", 9, 0},
    {"TB", "byte", 12, 0},
    {"KiB", "byte", 0, 10},
    {"MiB", "byte", 0, 20},
    {"GiB", "byte", 0, 30},
    {"TiB", "byte", 0, 40},
    {"FLOP", "FLOP", 0, 0},
    {"MFLOP", "FLOP", 6, 0},
    {"GFLOP", "FLOP", 9, 0},
    {"TFLOP", "FLOP", 12, 0},
    {"PFLOP", "FLOP", 15, 0},
    {"FLOP/s", "FLOP/s", 0, 0},
    {"GFLOP/s", "FLOP/s", 9, 0},
    {"TFLOP/s", "FLOP/s", 12, 0},
    {"PFLOP/s", "FLOP/s", 15, 0},
    {"byte/s", "byte/s", 0, 0},
    {"B/s", "byte/s", 0, 0},
    {"MB/s", "byte/s", 6, 0},
    {"GB/s", "byte/s", 9, 0},
    {"TB/s", "byte/s", 12, 0},
    {"MiB/s", "byte/s", 0, 20},
    {"GiB/s", "byte/s", 0, 30},
    {"TiB/s", "byte/s", 0, 40},
    {"count", "count", 0, 0},
    {"token", "token", 0, 0},
    {"token/s", "token/s", 0, 0},
    {"mJ", "J", -3, 0},
    {"J", "J", 0, 0},
    {"kJ", "J", 3, 0},
    {"W", "W", 0, 0},
    {"kW", "W", 3, 0},
    {"Hz", "Hz", 0, 0},
    {"MHz", "Hz", 6, 0},
    {"GHz", "Hz", 9, 0},
    {"%", "", -2, 0},
    {"x", "", 0, 0},
    {"1", "", 0, 0},
    {"", "", 0, 0},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Optional sign, digits with at most one point, optional exponent.
bool is_decimal(std::string_view text) {
  std::size_t i = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  std::size_t digits = 0;
  bool point = false;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point)); ++i) {
    if (text[i] == '.') {
      point = true;
    } else {
      ++digits;
    }
  }
  if (digits == 0) return false;
  if (i == text.size()) return true;
  if (text[i] != 'e' && text[i] != 'E') return false;
  ++i;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  const std::size_t first = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  return i == text.size() && i > first;
}

// `text` must be a decimal; nullopt when a double cannot hold it.
std::optional<double> shifted(std::string_view text, int decimal) {
  if (text.front() == '+') text.remove_prefix(1);
  const std::size_t mark = text.find_first_of("eE");
  int exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view written = text.substr(mark + 1);
    if (written.front() == '+') written.remove_prefix(1);
    const auto read = std::from_chars(written.data(), written.data() + written.size(), exponent);
    if (read.ec != std::errc{} || std::abs(exponent) > 100'000) return std::nullopt;
  }
  std::string whole(text.substr(0, mark));
  whole += 'e';
  whole += fmt::format_int(exponent + decimal).c_str();
  double value = 0;
  const auto read = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (read.ec != std::errc{} || read.ptr != whole.data() + whole.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Unit> unit_named(std::string_view name) {
  for (const NamedUnit& unit : units) {
    if (unit.name == name) return Unit{std::string(unit.base), unit.decimal, unit.binary};
  }
  return std::nullopt;
}

std::vector<std::string> known_units() {
  std::vector<std::string> names;
  for (const NamedUnit& unit : units) {
    if (!unit.name.empty()) names.emplace_back(unit.name);
  }
  return names;
}

std::optional<double> parse_in_unit(std::string_view text, const Unit& unit) {
  if (!is_decimal(text)) return std::nullopt;
  const std::optional<double> value = shifted(text, unit.decimal);
  if (!value) return std::nullopt;
  const double scaled = std::ldexp(*value, unit.binary);
  if (!std::isfinite(scaled)) return std::nullopt;
  return scaled;
}

double in_unit(double base_figure, const Unit& unit) {
  const double scaled = std::ldexp(base_figure, -unit.binary);
  if (unit.decimal == 0 || !std::isfinite(scaled)) return scaled;
  return shifted(fmt::format("{}", scaled), -unit.decimal)
      .value_or(scaled * std::pow(10.0, -unit.decimal));
}

}  // namespace assay::store
