#pragma once

// report/findings derives sentences from the data, one file for each kind. It depends on
// report/data and report/document. Start with findings_sections().

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

// A finding begins with its subject in bold. Data that support no finding give no sentence.
namespace assay::report {

Result<std::vector<Section>> findings_sections(const Records& records, const FindingsSpec& spec);

// A sentence that begins with its claim in bold.
struct Finding {
  std::string claim;
  std::string detail = "";           // stands folded below all claims; may be empty
  double effect = 0;                 // |ln| of its ratio: larger effects stand first
  bool always = false;               // shown however many there are
  std::set<std::string> marks = {};  // of its figures, where the claim has their sign
};
using Findings = std::vector<Finding>;

// One measured figure: a metric of one pass of one case.
struct Figure {
  std::uint32_t record = 0;                                 // the first one
  double value = 0;                                         // mean or median; base unit
  double std = std::numeric_limits<double>::quiet_NaN();    // of samples
  double error = std::numeric_limits<double>::quiet_NaN();  // standard error; NaN: unknown
  bool unverified = false;                                  // an unverified time
  std::set<std::string> marks;
};

// Plugin kinds whose variants are compared.
inline constexpr std::string_view variant_kinds[] = {"attention", "norm", "precision",
                                                     "communication", "compile"};

// An iteration takes as long as its slowest rank. Without unproven figures (store/records/marks.h):
// they win no sentence.
std::vector<Figure> figures_of(const Records& records, const RecordIds& ids,
                               const std::string& metric, Centre centre);

// For each variant axis (variant_kinds, or the spec's axis): every value against the baseline, over
// pairs of cases that differ in this axis alone. Gives the geometric mean, the range, the sign
// change and the geometric means by the values of the axis `by`. Requires that half of the pairs
// differ by more than twice their standard error. Then the best values of the variants' options.
Findings speedup_findings(const Records& records, const RecordIds& ids, const FindingSpec& spec);

// For each option of a variant, such as attention.block_m: its fastest value by variant and pass,
// over cases that have every value; several where they differ within their noise.
Findings best_option_findings(const Records& records, const std::vector<Figure>& figures);

// How time and memory grow with a numeric axis: the exponent of a least-squares line through the
// logarithms of the largest points, at least three that span a factor of four, down to where a
// point leaves the line. Requires that half of the curves reach an R² of 0.98 and change by half.
// None where every exponent is 1: twice the work takes twice the time.
Findings scaling_findings(const Records& records, const RecordIds& ids, const FindingSpec& spec);

// For each variant axis (variant_kinds, or the spec's axis): in which cases a variant fits the
// memory where the baseline does not, and the other way round.
std::vector<std::string> fit_findings(const Records& records, const RecordIds& ids,
                                      const FindingSpec& spec);

std::vector<std::string> warmup_findings(const Records& records, const RecordIds& ids,
                                         Centre centre);

// Times whose standard deviation is more than a fifth of their mean.
std::vector<std::string> noise_findings(const Records& records, const RecordIds& ids);

// For each observer and pass: the median of `observed_time` over that of the time. The interval of
// a case is from the ends of the 95 % intervals of both medians; of few steps, from all of them.
// Then the observers that have not seen a pass, and why.
Findings observer_findings(const Records& records, const RecordIds& ids);

// For each precision: how far the pass against_fp32 ends and begins from fp32, the least and the
// most of its cases, and how many of its steps an overflow skipped.
std::vector<std::string> drift_findings(const Records& records, const RecordIds& ids);

// For each case but its bucket size, of at least three sizes: what a call costs, o, and bytes a
// second, w, of all_reduces of the same backend and ranks (report/data/all_reduces.h), measured in
// the report's runs or known of their machine; the bucket sqrt(s · o · w) of s bytes of gradients,
// at which overheads and the last bucket's transfer balance; and the fastest one.
std::vector<std::string> bucket_findings(const Records& records, const RecordIds& ids);

// Of profiled passes: the kernel with the most time, by pass and precision; whether the optimizer
// changes it; the profiler's time beside the timer's, with the idle time that explains a
// difference; kernels without a class from 1 % on.
Findings kernel_findings(const Records& records, const RecordIds& ids);

// Of peak_memory: how it grows with seq_len by pass and precision, and the exponent of what grows;
// what 16 bit saves by model, and what autocast's copies add to inference; which training steps a
// card of 16, 24, 40 or 80 GB would hold.
std::vector<std::string> memory_findings(const Records& records, const RecordIds& ids);

// What lies between the GPUs, and where they, and the cores that ranks may use, are: of each
// machine that the results are from, as far as its run knows.
std::vector<std::string> topology_findings(const Records& records, const RecordIds& ids);

Findings failure_findings(const Records& records, const RecordIds& ids);

// The end of a sentence about figures with marks: " (2 of 5 pairs busy or wide)", or "".
std::string marked(const std::vector<std::set<std::string>>& marks, std::string_view what);

// Codes on all axes but rank and those in `left_out`, which become 0: two cases with equal keys can
// be compared along `left_out`.
Key rest_of(const Records& records, std::uint32_t record, const std::vector<std::size_t>& left_out);
// The axis, then its options: attention, attention.block_m.
std::vector<std::size_t> axis_and_options(const Records& records, std::size_t axis);

// "seq_len 128, precision bf16": the values on the axes that vary, without `left_out`.
std::string place_of(const Records& records, std::uint32_t record,
                     const std::vector<std::size_t>& left_out);

}  // namespace assay::report
