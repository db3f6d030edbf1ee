#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/findings/findings.h"

namespace assay::report {

// A variant beside its baseline in cases that differ in nothing else.
struct ComparedPair {
  std::uint32_t record;
  double ratio;           // baseline / variant: above 1 the variant is faster
  double relative_error;  // of the ratio, one standard error; NaN: unknown
  bool certain;
  bool unverified;
  std::set<std::string> marks;
};

struct BaselineComparison {
  std::string variant;
  std::string pass;
  std::vector<ComparedPair> pairs;

  double ratio() const;  // the geometric mean
};

// Differences of more standard errors than these are certain.
inline constexpr double standard_errors = 2;

// 0: the axis has no such value. `wanted` "": the usual baseline among the values, else the first.
std::uint32_t baseline_code(const Records& records, std::size_t axis, const std::string& wanted);

bool certainly_differ(const Figure& a, const Figure& b);

// `own`: the compared axis, then those that may differ with it.
std::vector<BaselineComparison> compare_with_baseline(const Records& records,
                                                      const std::vector<Figure>& figures,
                                                      const std::vector<std::size_t>& own,
                                                      std::uint32_t baseline);

// "1.35×", "12.4×": of a ratio or its inverse, whichever is above 1.
std::string times(double ratio);
// "1.4× faster", "1.2× slower", "as fast".
std::string speed(double ratio);

// "1.2–1.6×", and where the ends go either way "2× slower to 8× faster".
std::string speed_range(double least, double most);

// "slower up to seq_len 128, faster from 256", or its opposite; "" without a clear change.
std::string sign_change(const Records& records, const BaselineComparison& comparison);

// `own`: the compared axis with those that may differ with it. "by model: small 1.2×, xl 4×,
// rising"; "" for a single value. Numbers are of the comparison's own direction, faster or slower,
// unless some values go the other way.
std::string gains_text(const Records& records, const BaselineComparison& comparison,
                       std::size_t axis, const std::vector<std::size_t>& own);

}  // namespace assay::report
