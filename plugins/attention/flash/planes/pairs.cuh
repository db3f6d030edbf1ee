#pragma once

#include "attention/flash/instructions.cuh"

namespace assay::flash {

// The products of planes that count, the small ones first: of fp32 in three planes of bf16, each
// 2⁻⁸ of the one before, those down to 2⁻¹⁶. What is left out is 2⁻²⁴ of a product or less.
template <int planes>
struct Pairs;
template <>
struct Pairs<1> {
  static constexpr int count = 1;
  static __device__ constexpr int left(int) { return 0; }
  static __device__ constexpr int right(int) { return 0; }
};
template <>
struct Pairs<3> {
  static constexpr int count = 6;
  static __device__ constexpr int left(int pair) {
    constexpr int planes[] = {0, 2, 1, 0, 1, 0};
    return planes[pair];
  }
  static __device__ constexpr int right(int pair) {
    constexpr int planes[] = {2, 0, 1, 1, 0, 0};
    return planes[pair];
  }
};

// Starts a product of so many steps: `use` gets for each of them the planes of both operands, the
// step and whether it adds to what the ones before made.
template <int planes, int steps, class Use>
__device__ __forceinline__ void start_products(const Use& use) {
  begin_products();
#pragma unroll
  for (int pair = 0; pair < Pairs<planes>::count; ++pair) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      use(Pairs<planes>::left(pair), Pairs<planes>::right(pair), step, pair > 0 || step > 0);
    }
  }
  end_products();
}

}  // namespace assay::flash
