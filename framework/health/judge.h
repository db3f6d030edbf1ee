#pragma once

#include <vector>

#include "health/watch.h"
#include "store/records/marks.h"

namespace assay::health {

// What a case uses of the machine.
struct Needs {
  std::vector<int> devices;  // GPUs
  int processes = 1;         // of ours on each of them
  double cores = 1;          // at a time
  double cores_there = 1;    // that it may use
};

// Cores that others may use without being noticed: a quarter of one, 2 % of those the case needs,
// or half of those it leaves free (the other half may be the second threads of the same cores).
double harmless_cores(const Needs& needs);

// What was wrong with the machine: `throttled`, `shared`, `busy`.
std::vector<store::Mark> judge(const Observation& observation, const Needs& needs);

// What the samples of `time` say themselves, of each pass (of the slowest rank of each sample):
// `drifting` (statistics::examine_order), and `wide` where half the 95 % interval of their median
// is more than 5 % of it.
std::vector<store::Mark> judge_samples(const std::vector<store::Series>& series);

// Half the width of the 95 % confidence interval of the median, as a share of it. The interval
// runs between the k-th smallest and the k-th largest sample, with the largest k for which a
// binomial(n, ½) number is below k with a probability of at most 2.5 %; it supposes no distribution
// (David and Nagaraja, "Order Statistics", 2003, section 7.1). Infinite below 6 samples, which
// have no such interval; NaN with a NaN among them or a median that is not above 0.
double relative_half_width(std::vector<double> samples);

}  // namespace assay::health
