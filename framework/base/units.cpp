#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace assay {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array size_units = {
    Unit{"B", 1},           Unit{"kB", 1e3},           Unit{"MB", 1e6},
    Unit{"GB", 1e9},        Unit{"TB", 1e12},          Unit{"KiB", 1024.0},
    Unit{"MiB", 1048576.0}, Unit{"GiB", 1073741824.0}, Unit{"TiB", 1099511627776.0}};

constexpr std::array duration_units = {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3},
                                       Unit{"s", 1},     Unit{"min", 60},  Unit{"h", 3600}};

struct Quantity {
  double number;
  std::string_view unit;  // "" for a bare number
};

std::optional<Quantity> split_quantity(std::string_view text) {
  text = trim(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  return Quantity{number, trim(text.substr(static_cast<std::size_t>(end - text.data())))};
}

template <std::size_t N>
std::vector<std::string> names_of(const std::array<Unit, N>& units) {
  std::vector<std::string> names;
  names.reserve(N);
  for (const Unit& unit : units) names.emplace_back(unit.name);
  return names;
}

template <std::size_t N>
Result<double> parse_quantity(std::string_view text, const std::array<Unit, N>& units,
                              std::string_view what, std::string_view example) {
  const auto quantity = split_quantity(text);
  if (!quantity) {
    return fail(ExitCode::bad_input, fmt::format("'{}' is not a {}", text, what),
                fmt::format("write a number and a unit, such as {}", example));
  }
  if (quantity->unit.empty()) {
    return fail(ExitCode::bad_input, fmt::format("'{}' is a {} without a unit", text, what),
                fmt::format("write a number and a unit, such as {}", example));
  }
  if (quantity->number < 0) {
    return fail(ExitCode::bad_input, fmt::format("'{}' is a negative {}", text, what));
  }
  for (const Unit& unit : units) {
    if (unit.name == quantity->unit) return quantity->number * unit.factor;
  }
  return fail(ExitCode::bad_input, fmt::format("'{}' is not a unit of a {}", quantity->unit, what),
              "units are " + join(names_of(units), ", "));
}

}  // namespace

Result<std::int64_t> parse_size(std::string_view text) {
  const auto bytes = parse_quantity(text, size_units, "size", "100 MiB or 1 GB");
  if (!bytes) return tl::unexpected(bytes.error());
  if (*bytes >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
    return fail(ExitCode::bad_input, fmt::format("'{}' is larger than 2^63 bytes", text));
  }
  if (*bytes != std::floor(*bytes)) {
    return fail(ExitCode::bad_input, fmt::format("'{}' is not a whole number of bytes", text));
  }
  return static_cast<std::int64_t>(*bytes);
}

Result<double> parse_duration(std::string_view text) {
  return parse_quantity(text, duration_units, "duration", "30 s or 5 min");
}

std::string human_size(double bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t step = 0;
  while (std::abs(bytes) >= 1024 && step + 1 < units.size()) {
    bytes /= 1024;
    ++step;
  }
  return step == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, units[step]);
}

std::string counted(std::size_t count, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::floor(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace assay
