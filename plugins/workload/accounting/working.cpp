#include "working.h"

#include <fmt/format.h>

#include <cmath>

namespace assay::accounting {

namespace {

struct Shown {
  std::string number;
  std::string unit;
};

// "3517.58" → "3,517.58".
std::string with_thousands(std::string number) {
  const std::size_t point = number.find('.');
  const std::size_t first = number.front() == '-' ? 1 : 0;
  std::size_t at = point == std::string::npos ? number.size() : point;
  while (at > first + 3) {
    at -= 3;
    number.insert(at, ",");
  }
  return number;
}

Shown bytes(double value) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  int step = 0;
  // GB up to a thousand thousand: states of models are compared in it.
  while (std::fabs(value) >= 1000 && step < 3) {
    value /= 1000;
    ++step;
  }
  return {with_thousands(fmt::format("{:.{}f}", value, step == 0 ? 0 : 2)), units[step]};
}

Shown shown(const Quantity& quantity) {
  const double value = quantity.value;
  if (quantity.unit == "byte") return bytes(value);
  const bool whole = value == std::floor(value) && std::fabs(value) < 1e15;
  if (whole) return {with_thousands(fmt::format("{:.0f}", value)), quantity.unit};
  return {fmt::format("{:.6g}", value), quantity.unit};
}

}  // namespace

void record_working(const Quantity& quantity, const std::string& group, Recorder& recorder) {
  const std::string part = group.empty() ? quantity.name : group + ": " + quantity.name;
  const Shown result = shown(quantity);
  recorder.word("unit", part, result.unit.empty() ? "1" : result.unit);
  recorder.word("formula", part, quantity.formula);
  recorder.word("substitution", part, quantity.substitution.empty() ? "-" : quantity.substitution);
  recorder.word("result", part, result.number);
  recorder.word("source", part, quantity.source.empty() ? "-" : quantity.source);
}

void record_working(const Quantities& quantities, const std::string& group, Recorder& recorder) {
  for (const Quantity& each : quantities) record_working(each, group, recorder);
}

}  // namespace assay::accounting
