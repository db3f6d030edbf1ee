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
// `drifting` (statistics::examine_order), and `wide` where the farther end of the 95 % interval of
// their median is more than 5 % away.
std::vector<store::Mark> judge_samples(const std::vector<store::Series>& series);

}  // namespace assay::health
