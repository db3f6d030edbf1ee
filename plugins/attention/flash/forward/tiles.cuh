#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "launch.cuh"

// The compiled tiles of the forward, and which serves a problem. docs/kernels/attention.md has what
// each takes: "Forward tiles beside each other", "The forward's other order" and, of heads of 256,
// the forward's own log.
namespace assay::flash {

// Of the ways to a block's weights, what is fastest at a head's size (log 19).
constexpr Flow flow_of(int head) {
  if (head <= 96) return {.guesses = true};
  return {.guesses = true, .halves_values = true, .looks_ahead = true};
}

// Heads that leave multiprocessors idle: a warpgroup on each, and so twice as many.
template <class Element, int head>
using Few = Tile<Element, head, /*groups=*/1, /*keys=*/128, /*stages=*/2, /*query_stages=*/1,
                 flow_of(head)>;
// Short sequences: with 192 queries more of a tile would lie beyond the last, or the diagonal.
template <class Element, int head>
using Short = Tile<Element, head, /*groups=*/2, /*keys=*/128, /*stages=*/(head <= 64 ? 4 : 2),
                   /*query_stages=*/2, flow_of(head)>;
// Long ones: exponentials take as long as products, which three warpgroups hide. 96 keys leave
// registers for up to 96 columns of output.
template <class Element, int head>
using Long =
    Tile<Element, head, /*groups=*/3, /*keys=*/(head <= 64 ? 128 : 96),
         /*stages=*/(head <= 64 ? 4 : 2), /*query_stages=*/(head <= 64 ? 2 : 1), flow_of(head)>;
// Products hide exponentials there; more keys of a block read queries less often.
template <class Element>
using LongWide =
    Tile<Element, 128, /*groups=*/2, /*keys=*/144, /*stages=*/2, /*query_stages=*/1, flow_of(128)>;
template <class Element>
using Widest = Tile<Element, 256, /*groups=*/2, /*keys=*/80, /*stages=*/2, /*query_stages=*/1>;

// fp32 in three planes: six products of bf16 for each, so that exponentials count little. 128
// columns leave no registers for the next block's scores.
template <int head>
using Split = Tile<__nv_bfloat16, head, /*groups=*/2, /*keys=*/(head <= 64 ? 96 : 64),
                   /*stages=*/(head <= 64 ? 2 : 1), /*query_stages=*/1, Flow{.overlap = head <= 64},
                   /*planes=*/3>;

inline bool is_few(const Shape& shape, int processors) {
  const auto rows = (shape.queries + group_rows - 1) / group_rows;
  return std::int64_t{rows} * shape.heads * shape.batch <= processors;
}

inline bool is_long(const Shape& shape) {
  constexpr int short_keys = 2048;
  return (shape.window > 0 ? std::min(shape.window, shape.keys) : shape.keys) > short_keys;
}

// Narrow heads gain from three warpgroups early: a fifth where nothing is masked, a seventh under a
// causal mask, which each follows by itself. Up to 256 queries take no fewer tiles than with two.
inline bool is_tall(const Shape& shape) {
  constexpr int short_queries = 256;
  return shape.head <= 64 && shape.queries > short_queries;
}

// Calls `use` with the tile that serves a problem.
template <class Element>
auto with_tile(const Shape& shape, const auto& use) {
  if (shape.head > 128) return use(Widest<Element>());
  if (is_few(shape, processors_of_device())) {
    return shape.head <= 64 ? use(Few<Element, 64>()) : use(Few<Element, 128>());
  }
  if (is_long(shape) || is_tall(shape)) {
    if (shape.head > 96) return use(LongWide<Element>());
    if (shape.head <= 64) return use(Long<Element, 64>());
    return shape.head <= 80 ? use(Long<Element, 80>()) : use(Long<Element, 96>());
  }
  if (shape.head > 96) return use(Short<Element, 128>());
  if (shape.head <= 64) return use(Short<Element, 64>());
  return shape.head <= 80 ? use(Short<Element, 80>()) : use(Short<Element, 96>());
}

auto with_split_tile(const Shape& shape, const auto& use) {
  return shape.head <= 64 ? use(Split<64>()) : use(Split<128>());
}

template <class T>
Sharing sharing_of(const Shape& shape) {
  return balanced_sharing<T>(shape, processors_of_device());
}

template <class Element>
void forward_of(const Problem& problem, cudaStream_t stream) {
  with_tile<Element>(problem.shape, [&]<class T>(T) {
    launch_forward<T>(problem, stream, Grid::persistent, sharing_of<T>(problem.shape));
  });
}

template <class T>
std::int64_t workspace_of(const Shape& shape) {
  return Workspace<T>(shape, parts_of<T>(shape, sharing_of<T>(shape))).bytes;
}

// One file a format.
void forward_bf16(const Problem& problem, cudaStream_t stream);
void forward_fp16(const Problem& problem, cudaStream_t stream);
void forward_fp32(const Problem& problem, cudaStream_t stream);
std::int64_t workspace_of_fp32(const Shape& shape);

}  // namespace assay::flash
