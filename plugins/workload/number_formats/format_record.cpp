#include "format_record.h"

#include <cmath>

namespace assay {

namespace {

// Of LayerNorm in PyTorch.
constexpr double usual_eps = 1e-5;

}  // namespace

std::vector<MetricInfo> format_metrics() {
  constexpr auto neither = Direction::neither;
  return {
      {"bits", "count", neither, "Bits of a number."},
      {"exponent_bits", "count", neither, "Bits of the exponent."},
      {"mantissa_bits", "count", neither, "Bits of the fraction that are stored."},
      {"dynamic_range", "", neither, "Decades of the normal numbers.",
       "log10(largest / smallest_normal)"},
      {"precision_digits", "", neither, "Decimal digits that a normal number carries.",
       "(mantissa_bits + 1) * log10(2)"},
      {"largest", "", neither, "The largest finite number."},
      {"smallest_normal", "", neither, "The smallest number of full precision."},
      {"smallest_subnormal", "", neither, "The smallest number above 0."},
      {"epsilon", "", neither, "Distance from 1 to the next larger number."},
      {"largest_squared", "", neither, "The largest number whose square is finite."},
      {"eps_error", "", neither, "Relative error of a norm's eps, 1e-5, in the format."},
      {"eps_range",
       "",
       neither,
       "Whether a norm's eps, 1e-5, is a normal number of the format, a subnormal one or zero.",
       {},
       MetricKind::text},
  };
}

void record_format(Recorder& recorder, const std::string& part, const NumberFormat& format) {
  recorder.sample("bits", part, format.bits);
  recorder.sample("exponent_bits", part, format.exponent_bits);
  recorder.sample("mantissa_bits", part, format.mantissa_bits);
  recorder.sample("dynamic_range", part, format.decades());
  recorder.sample("precision_digits", part, format.decimal_digits());
  recorder.sample("largest", part, format.largest);
  recorder.sample("smallest_normal", part, format.smallest_normal);
  recorder.sample("smallest_subnormal", part, format.smallest_subnormal);
  recorder.sample("epsilon", part, format.epsilon);
  recorder.sample("largest_squared", part, format.largest_squared);
  recorder.sample("eps_error", part, std::abs(format.rounded(usual_eps) / usual_eps - 1));
  recorder.word("eps_range", part, range_in(format, usual_eps));
}

}  // namespace assay
