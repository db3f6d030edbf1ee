#pragma once

#include <vector>

#include "health/watch.h"
#include "store/records/marks.h"

namespace assay::health {

struct Needs {
  std::vector<int> devices;  // GPUs
  int processes = 1;         // of ours on each of them
  double cores = 1;          // at a time
  double cores_there = 1;    // usable ones
  int ranks = 1;             // of the case
};

// Others may use this many cores unnoticed: the largest of a quarter of one, 2 % of the case's
// cores and half of the idle ones (the other half may be second threads of the same cores).
double harmless_cores(const Needs& needs);

// Marks from the machine: `throttled`, `shared`, `busy`.
std::vector<store::Mark> judge(const Observation& observation, const Needs& needs);

// Marks of each pass from the samples of `time`, the slowest rank of each: `drifting`
// (statistics::examine_order), and `wide` where the farther end of the 95 % interval of their
// median is more than 10 % away.
std::vector<store::Mark> judge_samples(const std::vector<store::Series>& series);

}  // namespace assay::health
