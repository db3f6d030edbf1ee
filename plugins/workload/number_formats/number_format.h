#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

// What a binary floating-point format holds, read off its bit patterns. One sign bit, then
// exponent, then fraction.
struct NumberFormat {
  std::string name;  // "fp16", as precisions and dtypes are called
  int bits = 0;
  int exponent_bits = 0;
  int mantissa_bits = 0;  // stored, without the leading 1 of normal numbers
  double largest = 0;     // finite
  double smallest_normal = 0;
  double smallest_subnormal = 0;
  double epsilon = 0;          // from 1 to the next larger number
  double largest_squared = 0;  // the largest number whose square is finite

  // log10(largest / smallest_normal).
  double decades() const;
  // (mantissa_bits + 1) · log10(2): how many decimal digits a normal number carries.
  double decimal_digits() const;
  // The number as the format holds it, to the nearest, ties to even; infinite (NaN in e4m3) beyond
  // the largest.
  double (*rounded)(double value) = nullptr;
};

// fp32, fp16, bf16, fp8_e4m3 (largest 448, no infinities; Micikevicius et al. 2022, "FP8 Formats
// for Deep Learning") and fp8_e5m2.
const std::vector<NumberFormat>& number_formats();

// "normal", "subnormal", "zero" or "beyond" for a value that is not 0, as the format holds it.
std::string range_in(const NumberFormat& format, double value);

}  // namespace assay
