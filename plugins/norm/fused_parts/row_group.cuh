#pragma once

#include <cstdint>

#include "layout.h"
#include "values.cuh"

namespace assay::norm_parts {

// What the threads of a row tell each other. Two turns alternate, so that one barrier a sum is
// enough: whoever writes a turn again has passed a barrier that all readers reached.
struct Exchange {
  float warps[2][largest_block / warp][2];
  float blocks[2][largest_cluster][2];
};

__device__ inline int rank_in_cluster() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ inline void wait_for_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

__device__ inline std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

// Writes to the same place in another block's shared memory.
__device__ inline void write_to_block(const float* at, int block, float value) {
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.f32 [there], %2;\n"
      "}" ::"r"(shared_address(at)),
      "r"(block), "f"(value)
      : "memory");
}

template <int elements>
struct RowGroup {
  __device__ RowGroup(const Layout& layout, Exchange& exchange)
      : layout(layout),
        exchange(exchange),
        group(static_cast<int>(threadIdx.x) / layout.threads),
        thread(static_cast<int>(threadIdx.x) % layout.threads),
        rank(layout.cluster > 1 ? rank_in_cluster() : 0),
        block(static_cast<int>(blockIdx.x) / layout.cluster) {
    first_column = rank * segment();
    columns = min(segment(), layout.n_cols - first_column);
    const auto step = static_cast<std::int64_t>(layout.groups) * layout.blocks;
    rounds = static_cast<int>((layout.rows - row(0) + step - 1) / step);
    if (layout.cluster > 1) wait_for_cluster();
  }

  // The columns of a block, of which the last block's may lie beyond n_cols.
  __device__ int segment() const { return layout.threads * elements; }
  // Neighbouring blocks have neighbouring rows: no block has more than one row more than another.
  __device__ std::int64_t row(int round) const {
    return (static_cast<std::int64_t>(round) * layout.groups + group) * layout.blocks + block;
  }
  // Of the row, the block's first element in the tensor.
  __device__ std::int64_t first_element(int round) const {
    return row(round) * layout.n_cols + first_column;
  }
  __device__ bool has(int round) const { return row(round) < layout.rows; }
  // The first of a thread's `width` columns of step `step`, counted from first_column.
  template <int width>
  __device__ int column(int step) const {
    return (step * layout.threads + thread) * width;
  }

  // In every thread of the row the sums over it, added in an order that the layout alone
  // determines.
  template <int n>
  __device__ void sum(float (&sums)[n]) {
#pragma unroll
    for (int step = warp / 2; step > 0; step /= 2) add_lanes(sums, step);
    if (layout.threads > warp) {
      sum_over_warps(sums);
    } else {
      __syncwarp();
    }
    if (layout.cluster > 1) sum_over_blocks(sums);
    turn ^= 1;
  }

  const Layout& layout;
  Exchange& exchange;
  int group, thread, rank, block;
  int first_column = 0;
  int columns = 0;
  int rounds = 0;
  int turn = 0;

 private:
  template <int n>
  __device__ void add_lanes(float (&sums)[n], int step) const {
#pragma unroll
    for (int i = 0; i < n; ++i) sums[i] += __shfl_xor_sync(~0u, sums[i], step);
  }

  template <int n>
  __device__ void sum_over_warps(float (&sums)[n]) {
    const int lane = threadIdx.x % warp, warps = layout.threads / warp;
    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < n; ++i) exchange.warps[turn][threadIdx.x / warp][i] = sums[i];
    }
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(layout.threads) : "memory");
    const int width = 1 << (32 - __clz(warps - 1));  // the next power of two
    const int other = lane & (width - 1);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      sums[i] = other < warps ? exchange.warps[turn][group * warps + other][i] : 0.f;
    }
    for (int step = width / 2; step > 0; step /= 2) add_lanes(sums, step);
  }

  template <int n>
  __device__ void sum_over_blocks(float (&sums)[n]) {
    if (thread < layout.cluster) {
#pragma unroll
      for (int i = 0; i < n; ++i) write_to_block(&exchange.blocks[turn][rank][i], thread, sums[i]);
    }
    wait_for_cluster();
#pragma unroll
    for (int i = 0; i < n; ++i) {
      sums[i] = 0;
      for (int from = 0; from < layout.cluster; ++from) sums[i] += exchange.blocks[turn][from][i];
    }
  }
};

template <int wide, class Scalar, int elements>
__device__ void load_as(float (&values)[elements], const Scalar* from,
                        const RowGroup<elements>& me) {
#pragma unroll
  for (int i = 0; i < elements; ++i) {
    const int column = me.template column<wide>(i / wide) + i % wide;
    values[i] = column < me.columns ? static_cast<float>(from[me.first_column + column]) : 0.F;
  }
}

// A thread's part of a weight or a bias, whose dtype may be another than the rows'. The choice is
// around the loop, so that no load waits for another.
template <int wide, int elements>
__device__ void load(float (&values)[elements], const Typed& from, const RowGroup<elements>& me) {
  switch (from.dtype) {
    case Dtype::bf16:
      return load_as<wide>(values, static_cast<const __nv_bfloat16*>(from.data), me);
    case Dtype::fp16:
      return load_as<wide>(values, static_cast<const __half*>(from.data), me);
    default:
      return load_as<wide>(values, static_cast<const float*>(from.data), me);
  }
}

}  // namespace assay::norm_parts
