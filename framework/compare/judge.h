#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "statistics/statistics.h"

namespace assay::compare {

// When a difference counts: it must be both significant and large.
struct Criteria {
  double significance = 0.01;  // largest p of a difference, 0 to 1; the interval's level is 1 less
  double least = 0.01;  // of the ratio of medians: it counts from 1 + least or 1 / (1 + least)
  // By how much medians deviate from one process to the next, as a share of them: supposed where
  // there are too few runs to show it.
  double between_runs = 0.015;
};

// How B stands to A.
enum class Relation { lower, higher, same, inconclusive };

struct Judgement {
  Relation relation = Relation::inconclusive;
  double ratio = 0;               // middle() of B over that of A; NaN where there is none
  statistics::Interval interval;  // of the ratio; NaN where there is none
  double p = 0;        // of "both medians are the same", two-sided; NaN where there is none
  std::string reason;  // why it is inconclusive
};

// Samples fewer than this on a side say too little of their spread.
inline constexpr std::size_t least_samples = 5;

// Judges samples of the same thing measured twice, in the order they were taken.
//
// Samples of a benchmark follow each other: clocks, temperature and neighbours change slowly. Tests
// for independent samples (Mann–Whitney, the ordinary bootstrap) then call two runs of one binary
// different far too often, and Mann–Whitney has no remedy for few samples: corrected for a
// correlation of 0.4, no ten samples a side reach 1 %, however far apart. So the ratio of medians
// is judged by its interval, with a standard error that counts slow changes:
//
//   d       = ln(median of B / median of A)
//   v e², k = the variance of the logarithm of one side's median, and how well it is known
//             (statistics::variance_of_log_median)
//   d is Student's t times √(v e² of A + v e² of B), with Welch's degrees of freedom from the k.
//
// k small makes t wide, which is what keeps few samples honest. Over A/A experiments with lag-1
// correlation (normal and heavy-tailed noise) about 1 in 100 pairs or fewer differ at the
// significance of 1 % up to a correlation of 0.5 and about 3 in 100 at 0.8. The price is power: at
// ten samples a side the interval reaches 3.5 standard deviations of a sample either way, at fifty
// 0.8.
//
// What a process sets up once (addresses, algorithms, where memory lies) is the same for all
// samples of a run and differs from run to run. Where a side has several runs its figure is the
// geometric mean of their medians, and
//
//   e² v = s² / R of each side, s² the variance of the logarithms of the medians of runs about
//          their side's mean, of both sides together, with R of A + R of B − 2 degrees: runs of
//          both are supposed to deviate alike. It holds what varies within them. With fewer than
//          four degrees `between_runs`² counts beside it, with two: runs deviate in steps, too, so
//          that two of them often agree by chance.
//
// Of a side that is a single run s² comes on top of its e² v; where both are, they cannot show it,
// and s² is `between_runs`², as if known. On an H200 runs of one binary deviated by 0.35 % in the
// middle of 100 cases, and by up to 2.1 % where a call is shorter than 0.1 ms
// (reports/h200/same_twice); on the CPUs of a virtual machine by 10 to 22 %.
//
//   lower, higher  p is below the significance, and the ratio at least `least` from 1
//   same           the whole interval lies within 1 / (1 + least) and 1 + least
//   inconclusive   neither, or the figures do not allow a ratio: the reason says which
//
// Scaling B scales ratio and interval and nothing else; exchanging A and B mirrors them.
Judgement judge(std::span<const double> a, std::span<const double> b, const Criteria& criteria);

// Samples of one or several runs, one run behind the other.
struct Sampled {
  std::span<const double> values;
  std::span<const std::size_t> sizes;  // of the runs, none empty; together all values. None:
                                       // samples that no process is between
};
Judgement judge(const Sampled& a, const Sampled& b, const Criteria& criteria);

// What is compared: the median of one run, of several the geometric mean of their medians. NaN
// without samples.
double middle(const Sampled& sampled);

// Judges two figures that were counted, not timed, by their size alone.
Judgement judge_counts(double a, double b, const Criteria& criteria);

}  // namespace assay::compare
