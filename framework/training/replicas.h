#pragma once

#include <assay/workload.h>

#include <vector>

namespace assay::training {

// What all ranks should have alike, such as parameters after a step, by their order: compares with
// the ranks' mean the norm of each tensor and 64 elements of it, or all of a smaller one's, which a
// number draws that no rank could know. All ranks call it together.
void compare_replicas(const Group& group, at::Device device,
                      const std::vector<NamedTensor>& replicas, Verification& verification);

}  // namespace assay::training
