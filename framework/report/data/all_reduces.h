#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::report {

struct SizedTime {
  double bytes = 0;
  double time_s = 0;  // of a call, in a row, on the slowest rank
};

// All-reduces of several sizes that differ in nothing else.
struct AllReduces {
  std::string backend;
  std::string device;
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  std::string layer;
  std::string run;
  std::vector<SizedTime> times;

  bool is_alike(const AllReduces& other) const;  // of the same backend, device, ranks and nodes
};

// The run's cases of the workload `collective`, as training would make them: of those that are
// alike the ones through c10d's own stream where it was measured, else through c10d, else NCCL's
// own; in place, and of the most sizes. Without discarded times.
std::vector<AllReduces> all_reduces_of(const store::Run& run);

// Those that are alike to the case's.
const AllReduces* find_all_reduces(const std::vector<AllReduces>& all,
                                   const store::Parameters& of_case);

// An all-reduce of b bytes takes call_s + b · byte_s.
struct CallCost {
  double call_s = 0;
  double byte_s = 0;
  double deviation = 0;  // of the size that is farthest from that, as a share of its time
};

// By the least squares of relative deviations, so that small calls tell what a call costs and large
// ones what a byte does. Needs three sizes; nullopt where either would cost nothing.
std::optional<CallCost> call_cost_of(const AllReduces& measured);

}  // namespace assay::report
