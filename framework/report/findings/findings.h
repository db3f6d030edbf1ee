#pragma once

// report/findings makes sentences from the data, one file a kind. It depends on report/data and
// report/document. Start with findings_sections().

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "report/data/records.h"
#include "report/data/select.h"
#include "report/document/document.h"
#include "report/spec/spec.h"

// Findings are sentences made by rules from the data, and none is made when the data do not support
// it. Each begins with what it is about in bold.
namespace assay::report {

// A block of a spec as a section of the document.
Result<std::vector<Section>> findings_sections(const Records& records, const FindingsSpec& spec);

// One measured figure: a metric of one pass of one case.
struct Figure {
  std::uint32_t record = 0;                                 // its first
  double mean = 0;                                          // base unit
  double std = std::numeric_limits<double>::quiet_NaN();    // of samples
  double error = std::numeric_limits<double>::quiet_NaN();  // of the mean; NaN: not known
  bool unverified = false;                                  // a time that nobody has checked
  std::set<std::string> marks;                              // why it deserves less trust
};

// Kinds whose variants are compared.
inline constexpr std::string_view variant_kinds[] = {"attention", "norm", "precision",
                                                     "communication", "compile"};

// Ranks of one iteration count as the slowest.
std::vector<Figure> figures_of(const Records& records, const RecordIds& ids,
                               const std::string& metric);

// Faster and slower: for each variant axis (the plugin kinds, or the one the spec names), every
// value against the baseline over pairs of cases that differ in nothing else: geometric mean,
// range, where the sign changes, and the geometric means by the values of the axis `by`. None when
// no pair differs by more than twice its standard error.
std::vector<std::string> speedup_findings(const Records& records, const RecordIds& ids,
                                          const FindingSpec& spec);

// How time and memory grow with a numeric axis: the exponent of a least-squares line through the
// logarithms of at least three points that span a factor of four, with its R². The smallest values
// are left out where that makes a line of the rest. None where fewer than half of the curves reach
// an R² of 0.98, or change by less than half.
std::vector<std::string> scaling_findings(const Records& records, const RecordIds& ids,
                                          const FindingSpec& spec);

// What leaving out the warm-up does to spread and mean. None where both barely change.
std::vector<std::string> warmup_findings(const Records& records, const RecordIds& ids);

// Times whose standard deviation is more than a fifth of their mean. None where all are steadier.
std::vector<std::string> noise_findings(const Records& records, const RecordIds& ids);

// Which results are not ok, and why. None where all are.
std::vector<std::string> failure_findings(const Records& records, const RecordIds& ids);

// What a sentence says of marks on some of the figures it rests on: " (2 of 5 pairs busy or wide)".
std::string marked(const std::vector<std::set<std::string>>& marks, std::string_view what);

// Codes on all axes but those named (and the options of those): what two cases must share to be
// compared along an axis.
Key rest_of(const Records& records, std::uint32_t record, const std::vector<std::size_t>& left_out);
std::vector<std::size_t> axis_and_options(const Records& records, std::size_t axis);

// "seq_len 128, precision bf16": the values on axes that vary, but for those left out.
std::string place_of(const Records& records, std::uint32_t record,
                     const std::vector<std::size_t>& left_out);

}  // namespace assay::report
