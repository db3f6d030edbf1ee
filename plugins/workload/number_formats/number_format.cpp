#include "number_format.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Half.h>

#include <bit>
#include <cmath>

namespace assay {

namespace {

template <class Number, class Bits>
double value_of(Bits pattern) {
  return static_cast<double>(static_cast<float>(std::bit_cast<Number>(pattern)));
}

template <class Number>
double round_to(double value) {
  return static_cast<double>(static_cast<float>(static_cast<Number>(static_cast<float>(value))));
}

// Positive numbers are ordered as their patterns are. The last pattern from `first` on for which
// `holds`, which does for `first` and, once it does not, never again.
template <class Bits, class Holds>
Bits last_that(Bits first, Bits end, Holds holds) {
  while (end - first > 1) {
    const Bits middle = static_cast<Bits>(first + (end - first) / 2);
    (holds(middle) ? first : end) = middle;
  }
  return first;
}

template <class Number, class Bits>
NumberFormat examined(const char* name) {
  static_assert(sizeof(Number) == sizeof(Bits));
  constexpr int bits = 8 * sizeof(Bits);
  const auto value = [](auto pattern) { return value_of<Number>(static_cast<Bits>(pattern)); };
  // 1 has the exponent 01…1 and no fraction.
  const Bits one = std::bit_cast<Bits>(static_cast<Number>(1.0F));
  const Bits sign = static_cast<Bits>(Bits{1} << (bits - 1));

  NumberFormat format;
  format.name = name;
  format.bits = bits;
  format.mantissa_bits = std::countr_zero(one);
  format.exponent_bits = bits - 1 - format.mantissa_bits;
  format.epsilon = value(one + 1) - 1;
  format.smallest_normal = value(Bits{1} << format.mantissa_bits);
  format.smallest_subnormal = value(1);
  const Bits largest = last_that(one, sign, [&](Bits at) { return std::isfinite(value(at)); });
  format.largest = value(largest);
  format.largest_squared = value(last_that(one, static_cast<Bits>(largest + 1), [&](Bits at) {
    return std::isfinite(round_to<Number>(value(at) * value(at)));
  }));
  format.rounded = &round_to<Number>;
  return format;
}

}  // namespace

double NumberFormat::decades() const { return std::log10(largest) - std::log10(smallest_normal); }
double NumberFormat::decimal_digits() const { return (mantissa_bits + 1) * std::log10(2.0); }

const std::vector<NumberFormat>& number_formats() {
  static const std::vector<NumberFormat> formats = {
      examined<float, std::uint32_t>("fp32"), examined<c10::Half, std::uint16_t>("fp16"),
      examined<c10::BFloat16, std::uint16_t>("bf16"),
      examined<c10::Float8_e4m3fn, std::uint8_t>("fp8_e4m3"),
      examined<c10::Float8_e5m2, std::uint8_t>("fp8_e5m2")};
  return formats;
}

std::string range_in(const NumberFormat& format, double value) {
  const double held = std::abs(format.rounded(value));
  if (!std::isfinite(held)) return "beyond";
  if (held == 0) return "zero";
  return held < format.smallest_normal ? "subnormal" : "normal";
}

}  // namespace assay
