#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::store {

// 1 of the unit is 10^decimal · 2^binary of `base`.
struct Unit {
  std::string
      base;  // s, byte, FLOP, count, token, J, W, Hz, a quotient such as byte/s, or "" for a ratio
  int decimal = 0;
  int binary = 0;
};

// "ms", "µs" or "us", "GiB", "MB", "GFLOP", "GB/s", "count", "%", …; "", "x" and "1" are a ratio.
// nullopt for anything else.
std::optional<Unit> unit_named(std::string_view name);

std::vector<std::string> known_units();

// Reads a decimal number in `unit`; returns it in the base unit. Moves the decimal point before the
// digits become a double: 0.268386 ms is the same double as 0.000268386 s. nullopt when `text` is
// not a plain finite decimal number.
std::optional<double> parse_in_unit(std::string_view text, const Unit& unit);

// Converts a figure from the base unit to `unit`. Moves the point of the shortest decimals: up to
// 15 digits that parse_in_unit read come back as the double of those digits.
double in_unit(double base_figure, const Unit& unit);

}  // namespace assay::store
