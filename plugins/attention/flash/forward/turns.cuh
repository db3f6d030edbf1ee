#pragma once

#include "attention/flash/instructions.cuh"
#include "attention/flash/tile.cuh"

namespace assay::flash {

// The order of warpgroups: each issues when the one before has. Named barrier 1 + g is the turn of
// group g; 0 is __syncthreads().
template <class T>
struct Turns {
  static constexpr bool taken = T::flow.turns && T::groups > 1;

  // The last group hands the first turn out.
  static __device__ void begin(int group) {
    if constexpr (taken) {
      if (group == T::groups - 1) arrive_named(1, 2 * warpgroup);
    }
  }
  static __device__ void take(int group) {
    if constexpr (taken) wait_named(1 + group, 2 * warpgroup);
  }
  static __device__ void pass(int group) {
    if constexpr (taken) {
      arrive_named(group == T::groups - 1 ? 1 : 2 + group, 2 * warpgroup);
    }
  }
  // The turn nobody takes.
  static __device__ void end(int group) {
    if constexpr (taken) {
      if (group == 0) wait_named(1, 2 * warpgroup);
    }
  }
};

}  // namespace assay::flash
