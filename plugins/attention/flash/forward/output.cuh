#pragma once

#include "attention/flash/instructions.cuh"
#include "attention/flash/mask.cuh"
#include "attention/flash/planes/write_floats.cuh"
#include "attention/flash/problem.h"
#include "attention/flash/softmax.cuh"
#include "attention/flash/threads.cuh"
#include "attention/flash/tile.cuh"
#include "parts.cuh"
#include "schedule.cuh"

// What an item has come to: from registers to memory.
namespace assay::flash {

// Writes a warp's 16 rows: registers → their place in `tile` [rows, head] → the tensor, without
// waiting for other warps. Rows beyond the last query and columns beyond the head are left out.
template <class T>
__device__ __forceinline__ void write_output(const float (&output)[T::head / 2],
                                             const Arguments& arguments, std::byte* tile,
                                             Place place, const Consumer& me) {
  std::byte* const corner = tile + me.warp * 16 * block_row_bytes;
  if (me.lane == 0) wait_for_reads();  // of the tile before
  __syncwarp();
  // Piece i of a row r lies where piece 0 does, with i in place of r's bits xor 0.
  std::uint32_t start = shared_address(corner) + swizzled(me.lane / 4, 0) + me.column * 2;
  asm volatile("" : "+r"(start));  // computed here, not kept in registers all along
#pragma unroll
  for (int i = 0; i < T::head / 8; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      store_shared(
          (start ^ i % 8 * 16) + (i / 8 * T::rows + half * 8) * block_row_bytes,
          pack<typename T::Element>(output[4 * i + 2 * half], output[4 * i + 2 * half + 1]));
    }
  }
  show_shared_writes();
  __syncwarp();
  if (me.lane == 0 && place.row < arguments.shape.queries) {
#pragma unroll
    for (int block = 0; block < T::blocks; ++block) {
      place.column = block * block_columns;
      store_box(arguments.out, place, corner + block * T::rows * block_row_bytes);
    }
    end_stores();
  }
}

// Of a row's scores. The largest has not quite the weight 1 where the product of its score and the
// scale is rounded: fp32, whose backward subtracts the log-sum-exp from such a product, takes the
// sum of weights beside that of the largest.
template <class T>
__device__ inline float log_sum_exp(float most, float sum, const Arguments& arguments) {
  constexpr float ln_2 = 0.693147180559945f;
  if (sum == 0) return -INFINITY;
  if constexpr (!T::writes_floats) return (most * arguments.scale.usual + log2_fast(sum)) * ln_2;
  const Exponent exponent(most, arguments.scale);
  const float of_largest = __fmaf_rn(most, exponent.scale, -exponent.shift);
  return __fadd_rn(__fmul_rn(most, arguments.shape.natural_scale),
                   (log2_fast(sum) - of_largest) * ln_2);
}

// Divides by the weights' sum and writes log-sum-exp. A row that saw no key is 0, and −∞.
template <class T>
__device__ __forceinline__ void finish_rows(float (&output)[T::head / 2], const Softmax& softmax,
                                            const Arguments& arguments, float* lse, int first_row,
                                            const Consumer& me) {
  float inverse[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = sum_of_row(softmax.sum[half]);
    inverse[half] = sum == 0 ? 0 : reciprocal(sum);
    const int row = first_row + me.row + 8 * half;
    if (me.lane % 4 == 0 && row < arguments.shape.queries) {
      lse[row] = log_sum_exp<T>(softmax.most[half], sum, arguments);
    }
  }
  scale_rows(output, {inverse[0], inverse[1]});
}

// Writes what an item has come to, or keeps it until the other parts of its tile are there.
template <class T>
__device__ __forceinline__ void finish_item(float (&output)[T::head / 2], Softmax& softmax,
                                            const Arguments& arguments, Shared<T>& shared,
                                            int4 work, int query_stage, const Consumer& me) {
  const Shape& shape = arguments.shape;
  const int first_row = first_row_of<T>(shape, work.x);
  const int blocks = seen_blocks(shape, first_row, T::rows, T::keys).count();
  const int tile = (work.z * shape.heads + work.y) * arguments.row_tiles + work.x;
  const int parts = (blocks + arguments.parts.blocks - 1) / arguments.parts.blocks;
  bool whole = true;
  if (T::may_share_in_cluster && arguments.parts.together > 1) {
    whole = add_up_together<T>(output, softmax, arguments.scale, arguments.parts, tile, work.w,
                               parts, me);
  } else if (blocks > arguments.parts.blocks) {
    whole = add_up<T>(output, softmax, arguments.scale, arguments.parts, tile, work.w, parts, me);
  }
  // The queries' buffer is free for output once the whole warpgroup has read them.
  if constexpr (T::output_over_queries) wait_named(1 + T::groups + me.group, warpgroup);
  const bool has_queries = first_row + me.group * group_rows >= 0;
  if (whole && has_queries) {
    float* const lse =
        arguments.lse + (static_cast<std::int64_t>(work.z) * shape.heads + work.y) * shape.queries;
    finish_rows<T>(output, softmax, arguments, lse, first_row, me);
    if constexpr (T::writes_floats) {
      write_floats(output, 1, arguments.floats, {me.column, first_row + me.row, work.y, work.z},
                   shape.queries, shape.head);
    } else {
      write_output<T>(output, arguments,
                      T::output_over_queries ? shared.queries[query_stage] : shared.output,
                      {0, first_row + me.warp * 16, work.y, work.z}, me);
    }
  }
  if constexpr (T::output_over_queries) {
    if (me.lane == 0) wait_for_reads();
    release(shared.queries_empty[query_stage], me);
  }
}

}  // namespace assay::flash
