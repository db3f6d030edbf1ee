#include "report/spec/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace assay::report {
namespace {

constexpr int decimal_digits_of_double = 15;

// Whether its shortest decimal, such as 1.25e-06, has no more digits than every double keeps.
bool is_short(double value) {
  std::array<char, 32> text;
  const auto written =
      std::to_chars(text.begin(), text.end(), value, std::chars_format::scientific);
  const auto digits = std::count_if(text.begin(), std::find(text.begin(), written.ptr, 'e'),
                                    [](char c) { return c >= '0' && c <= '9'; });
  return digits <= decimal_digits_of_double;
}

bool is_float(double value) { return static_cast<double>(static_cast<float>(value)) == value; }

}  // namespace

store::Unit unit_of_data(std::string_view name) {
  if (auto unit = store::unit_named(name)) return *unit;
  return store::Unit{std::string(name), 0, 0};
}

double convert(double value, std::string_view from, std::string_view to) {
  if (from == to) return value;
  const store::Unit source = unit_of_data(from);
  store::Unit step = unit_of_data(to);
  step.decimal -= source.decimal;
  step.binary -= source.binary;
  const double shifted = store::in_unit(value, step);
  if (step.decimal == 0 || !std::isfinite(value)) return shifted;
  const double power = std::pow(10.0, std::abs(step.decimal));
  const bool up = step.decimal < 0;
  const double scaled = std::ldexp(value, -step.binary);
  const double result = up ? scaled * power : scaled / power;
  const store::Unit back{step.base, -step.decimal, 0};
  for (const double near :
       {result, std::nextafter(result, -HUGE_VAL), std::nextafter(result, HUGE_VAL)}) {
    if (!is_float(near)) continue;
    if (store::in_unit(near, back) == scaled || (up ? near / power : near * power) == scaled) {
      return near;
    }
  }
  return is_short(shifted) ? shifted : result;
}

bool same_dimension(std::string_view from, std::string_view to) {
  return unit_of_data(from).base == unit_of_data(to).base;
}

std::vector<std::string> units_for(std::string_view unit) {
  std::vector<std::string> names;
  for (const std::string& name : store::known_units()) {
    if (same_dimension(name, unit)) names.push_back(name);
  }
  if (names.empty() && !unit.empty()) names.emplace_back(unit);
  return names;
}

std::string sensible_unit(double magnitude, std::string_view base_unit) {
  static constexpr std::string_view ladders[][5] = {
      {"ns", "us", "ms", "s"},
      {"byte", "KiB", "MiB", "GiB"},
      {"byte/s", "MB/s", "GB/s", "TB/s"},
      {"FLOP/s", "GFLOP/s", "TFLOP/s"},
      {"FLOP", "GFLOP", "TFLOP"},
      {"mJ", "J", "kJ"},
  };
  if (magnitude == 0 || !std::isfinite(magnitude)) return std::string(base_unit);
  for (const auto& ladder : ladders) {
    if (!same_dimension(ladder[0], base_unit)) continue;
    std::string_view best = ladder[0];
    for (const std::string_view name : ladder) {
      if (!name.empty() && std::abs(convert(magnitude, base_unit, name)) >= 1) best = name;
    }
    return std::string(best);
  }
  return std::string(base_unit);
}

}  // namespace assay::report
