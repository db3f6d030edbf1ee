#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "statistics/statistics.h"

namespace assay::compare {

// A difference counts if it is both significant and large.
struct Criteria {
  double significance = 0.01;  // largest p of a difference, 0 to 1; the interval's level is 1 less
  double least = 0.01;  // of the ratio of medians: it counts from 1 + least or 1 / (1 + least)
  // Deviation of medians between processes, as a fraction, assumed where too few runs show it.
  double between_runs = 0.015;
};

enum class Relation { lower, higher, same, inconclusive };

struct Judgement {
  Relation relation = Relation::inconclusive;
  double ratio = 0;               // middle() of B over that of A; NaN: none
  statistics::Interval interval;  // of the ratio; NaN: none
  double p = 0;                   // of equal medians, two-sided; NaN: none
  std::string reason;             // if inconclusive
};

// Fewer samples on a side say too little about their spread.
inline constexpr std::size_t least_samples = 5;

// Judges samples of one quantity measured twice, in the order they were taken.
//
// Samples of a benchmark are correlated: clocks, temperature and neighbours change slowly. Tests
// for independent samples (Mann–Whitney, the ordinary bootstrap) then find differences between two
// runs of one binary far too often. Corrected for a correlation of 0.4, Mann–Whitney never reaches
// 1 % with ten samples a side. So the interval of the ratio of medians decides, with a standard
// error that includes slow changes:
//
//   d       = ln(median of B / median of A)
//   v e², k = variance of the logarithm of one side's median, and its degrees of freedom
//             (statistics::variance_of_log_median)
//   d is Student's t times √(v e² of A + v e² of B), with Welch's degrees of freedom from the k.
//
// A small k widens t. In A/A experiments with lag-1 correlation (normal and heavy-tailed noise)
// about 1 in 100 pairs or fewer differ at a significance of 1 % up to a correlation of 0.5, about 3
// in 100 at 0.8. The price is power: the interval reaches 3.5 standard deviations of a sample
// either way at ten samples a side, 0.8 at fifty.
//
// A process sets up addresses, algorithms and memory once: they are constant within a run and
// differ between runs. The figure of a side with several runs is the geometric mean of their
// medians, and
//
//   e² v = s² / R of each side. s² is the variance of the logarithms of run medians about their
//          side's mean, pooled over both sides with R of A + R of B − 2 degrees of freedom. It
//          includes the variation within runs. Below four degrees `between_runs`² is pooled in with
//          two degrees: runs deviate in steps, so that two often agree by chance.
//
// A single run adds s² to its own e² v. If both sides are single runs, s² is `between_runs`², as if
// known. On an H200 runs of one binary deviated by 0.35 % in the middle of 100 cases, and by up to
// 2.1 % where a call is shorter than 0.1 ms (reports/h200/same_twice); on the CPUs of a virtual
// machine by 10 to 22 %.
//
//   lower, higher  p is below the significance, and the ratio at least `least` from 1
//   same           the whole interval lies within 1 / (1 + least) and 1 + least
//   inconclusive   otherwise, or if there is no ratio; `reason` says why
//
// Scaling B scales ratio and interval alone; exchanging A and B mirrors them.
Judgement judge(std::span<const double> a, std::span<const double> b, const Criteria& criteria);

// Samples of one or several runs, run after run.
struct Sampled {
  std::span<const double> values;
  std::span<const std::size_t> sizes;  // by run, each above 0, their sum that of `values`; empty:
                                       // variation between processes does not count
};
Judgement judge(const Sampled& a, const Sampled& b, const Criteria& criteria);

// The geometric mean of the runs' medians; NaN without samples.
double middle(const Sampled& sampled);

// Judges counted figures, which have no noise, by their ratio alone.
Judgement judge_counts(double a, double b, const Criteria& criteria);

}  // namespace assay::compare
