#pragma once

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

}  // namespace assay::flash
