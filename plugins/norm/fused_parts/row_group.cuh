#pragma once

#include <cstdint>

#include "layout.h"
#include "values.cuh"

namespace assay::norm_parts {

// What the threads of a row tell each other. Two turns alternate, so that one barrier a sum is
// enough: whoever writes a turn again has passed a barrier that all readers reached.
struct Exchange {
  float warps[2][largest_block / warp][4];
  float blocks[2][largest_cluster][4];
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

// What some columns have: sums of n values, and sums of products of the first value's deviation
// from its mean and each value's.
template <int n>
struct Moments {
  float sums[n];
  float products[n];
};

// The rows of a group.
struct GroupRows {
  std::int64_t first;
  int step;
  int count;
};

__device__ inline int block_of_grid(const Layout& layout) {
  return static_cast<int>(blockIdx.x) / layout.cluster;
}

// As the layout hands them out.
__device__ inline GroupRows rows_of(const Layout& layout) {
  const int group = static_cast<int>(threadIdx.y), block = block_of_grid(layout);
  GroupRows rows;
  std::int64_t last;
  if (layout.chunk == 0) {
    const int all = layout.groups * layout.blocks;
    rows.step = all - all % layout.classes;
    rows.first = group * layout.blocks + block;
    last = rows.first < rows.step ? layout.rows : 0;
  } else {
    const int unit = block * layout.groups + group;
    const std::int64_t begins =
        static_cast<std::int64_t>(unit / layout.classes) * layout.classes * layout.chunk;
    rows.first = begins + unit % layout.classes;
    rows.step = layout.classes;
    last = min(layout.rows, begins + layout.classes * layout.chunk);
  }
  rows.count =
      rows.first < last ? static_cast<int>((last - rows.first + rows.step - 1) / rows.step) : 0;
  return rows;
}

// One, where no cluster shares it. In the last block it may lie beyond the tensor, so that all
// groups have as many, for Meeting::block.
__device__ inline GroupRows one_row(const Layout& layout) {
  return {.first = static_cast<std::int64_t>(blockIdx.x) * layout.groups + threadIdx.y,
          .step = 1,
          .count = 1};
}

// In turns, where no cluster shares a row; the last may lie beyond the tensor, as above.
__device__ inline GroupRows rows_in_turn(const Layout& layout) {
  GroupRows rows = one_row(layout);
  rows.step = layout.groups * layout.blocks;
  rows.count = static_cast<int>((layout.rows + rows.step - 1) / rows.step);
  return rows;
}

// Whose threads meet before they read each other's sums.
enum class Meeting {
  group,  // at one of 16 barriers: of blocks with so many at most four share a multiprocessor
  block,  // where each group of the block has the same number of rows
};

// Columns are counted from the 16 bytes in which the part of the row that a block has begins:
// [begin, end) are there. A thread has `elements` of them, `wide` neighbouring ones at a time.
// Threads lie along x, groups along y.
template <int elements, int wide, Access access, Meeting meeting = Meeting::group>
struct RowGroup {
  static constexpr int steps = elements / wide;
  static constexpr bool is_aligned = access == Access::aligned;

  __device__ RowGroup(const Layout& layout, Exchange& exchange, const GroupRows& rows)
      : layout(layout),
        exchange(exchange),
        group(static_cast<int>(threadIdx.y)),
        thread(static_cast<int>(threadIdx.x)),
        rank(layout.cluster > 1 ? rank_in_cluster() : 0),
        block(block_of_grid(layout)),
        rows(rows) {
    const int skew =
        access == Access::askew ? static_cast<int>(rows.first * layout.n_cols % wide) : 0;
    first_column = rank * segment() - skew;
    begin = rank == 0 ? skew : 0;
    end = max(begin, min(segment(), layout.n_cols - first_column));
    if (layout.cluster > 1) wait_for_cluster();
  }

  // Leaves out a row beyond the tensor: its sums may be NaN, nothing is written.
  __device__ void have_no_columns() { end = begin; }

  // The columns of a block, of which the last block's may lie beyond n_cols.
  __device__ int segment() const { return layout.threads * elements; }
  __device__ std::int64_t row(int round) const {
    return rows.first + static_cast<std::int64_t>(round) * rows.step;
  }
  // Of the row, the block's column 0 in the tensor.
  __device__ std::int64_t first_element(int round) const {
    return row(round) * layout.n_cols + first_column;
  }
  // The first of a thread's columns of step `step`.
  __device__ int column(int step) const { return (step * layout.threads + thread) * wide; }
  __device__ bool has(int step) const { return column(step) < end; }
  // Whether some of a step's columns are there and others are not.
  __device__ bool has_part(int step) const {
    if constexpr (access == Access::aligned) return false;
    return has(step) && (column(step) < begin || column(step) + wide > end);
  }
  __device__ bool has(int step, int i) const {
    if constexpr (access == Access::aligned) return has(step);
    return column(step) + i >= begin && column(step) + i < end;
  }

  // At least the threads of this block that have the row.
  __device__ void meet() const {
    if (layout.threads == warp) {
      __syncwarp();
    } else if constexpr (meeting == Meeting::block) {
      __syncthreads();
    } else {
      asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(layout.threads) : "memory");
    }
  }

  // In every thread of the row the sums over it, added in an order that the layout alone
  // determines.
  template <int n>
  __device__ void sum(float (&sums)[n]) {
    add_lanes(sums, warp);
    if (layout.threads > warp) {
      const int warps = layout.threads / warp;
      if (thread % warp == 0) {
#pragma unroll
        for (int i = 0; i < n; ++i) exchange.warps[turn][own_warp()][i] = sums[i];
      }
      meet();
      const int other = other_warp();
#pragma unroll
      for (int i = 0; i < n; ++i) {
        sums[i] = other < warps ? exchange.warps[turn][group * warps + other][i] : 0.f;
      }
      add_lanes(sums, readers());
    } else {
      __syncwarp();
    }
    if (layout.cluster > 1) sum_over_blocks(sums);
    turn ^= 1;
  }

  // The row's moments in every thread. `products_of` gives a thread's products of deviations from
  // given means. Each warp takes them around its own means, so no cancellation arises, and parts
  // are put together as those of subsets of a sample are: Σ(a − m)(b − l) over a part of k columns
  // around means m', l' of its own is that around these plus k (m' − m)(l' − l).
  template <int n, class ProductsOf>
  __device__ void moments(Moments<n>& of, const ProductsOf& products_of) {
    add_lanes(of.sums, warp);
    float means[n];
    const float warp_share = warp_columns > 0 ? 1.f / warp_columns : 0.f;
#pragma unroll
    for (int i = 0; i < n; ++i) means[i] = of.sums[i] * warp_share;
    products_of(means, of.products);
    add_lanes(of.products, warp);
    if (layout.threads > warp) {
      const int warps = layout.threads / warp;
      if (thread % warp == 0) {
#pragma unroll
        for (int i = 0; i < n; ++i) {
          exchange.warps[turn][own_warp()][i] = of.sums[i];
          exchange.warps[turn][own_warp()][n + i] = of.products[i];
        }
      }
      meet();
      const int other = other_warp();
      Moments<n> part = {};
      if (other < warps) {
#pragma unroll
        for (int i = 0; i < n; ++i) {
          part.sums[i] = exchange.warps[turn][group * warps + other][i];
          part.products[i] = exchange.warps[turn][group * warps + other][n + i];
        }
      }
      merge(of, part, other_columns, 1.f / static_cast<float>(end - begin), readers());
    } else {
      __syncwarp();
    }
    if (layout.cluster > 1) {
      if (thread < layout.cluster) {
#pragma unroll
        for (int i = 0; i < n; ++i) {
          write_to_block(&exchange.blocks[turn][rank][i], thread, of.sums[i]);
          write_to_block(&exchange.blocks[turn][rank][n + i], thread, of.products[i]);
        }
      }
      wait_for_cluster();
      const int other = thread % layout.cluster;
      Moments<n> part;
#pragma unroll
      for (int i = 0; i < n; ++i) {
        part.sums[i] = exchange.blocks[turn][other][i];
        part.products[i] = exchange.blocks[turn][other][n + i];
      }
      merge(of, part, static_cast<float>(columns_of_block(other)),
            1.f / static_cast<float>(layout.n_cols), layout.cluster);
    }
    turn ^= 1;
  }
  // Counts the columns of the warps whose parts `moments` puts together.
  __device__ void count_columns() {
    // Not of `end`, a minimum: where segment() is a constant, ptxas 13.0 takes which of the two it
    // was the wrong way round (VIMNMX.RELU and its predicate).
    if (begin == 0 && layout.n_cols - first_column >= segment()) {
      warp_columns = warp * elements;
      other_columns = other_warp() < layout.threads / warp ? warp_columns : 0.f;
      return;
    }
    const auto of_warp = [&](int index) {
      int count = 0;
      for (int step = 0; step < steps; ++step) {
        const int first = (step * layout.threads + index * warp) * wide;
        count += max(0, min(first + warp * wide, end) - max(first, begin));
      }
      return static_cast<float>(count);
    };
    warp_columns = of_warp(thread / warp);
    const int other = other_warp();
    other_columns = other < layout.threads / warp ? of_warp(other) : 0.f;
  }

  const Layout& layout;
  Exchange& exchange;
  int group, thread, rank, block;
  GroupRows rows;
  int first_column = 0;  // of the row: the block's column 0
  int begin = 0, end = 0;

 private:
  int turn = 0;
  float warp_columns = 0;   // of this thread's warp
  float other_columns = 0;  // of other_warp()

  // Lanes that read what the warps of a row wrote: the next power of two.
  __device__ int readers() const { return 1 << (32 - __clz(layout.threads / warp - 1)); }
  __device__ int other_warp() const { return thread % warp & (readers() - 1); }
  // Of the block's.
  __device__ int own_warp() const { return group * (layout.threads / warp) + thread / warp; }
  __device__ int columns_of_block(int of_rank) const {
    const int first = first_column + (of_rank - rank) * segment();
    return max(0, min(first + segment(), layout.n_cols) - max(first, 0));
  }

  // Over neighbouring `width` lanes.
  template <int n>
  __device__ void add_lanes(float (&sums)[n], int width) const {
#pragma unroll
    for (int step = warp / 2; step > 0; step /= 2) {
      if (step >= width) continue;
#pragma unroll
      for (int i = 0; i < n; ++i) sums[i] += __shfl_xor_sync(~0u, sums[i], step);
    }
  }

  template <int n>
  __device__ void merge(Moments<n>& into, const Moments<n>& part, float part_columns, float share,
                        int width) const {
    into = part;
    add_lanes(into.sums, width);
    const float part_share = part_columns > 0 ? 1.f / part_columns : 0.f;
    const float away = part_columns * (part.sums[0] * part_share - into.sums[0] * share);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      into.products[i] += away * (part.sums[i] * part_share - into.sums[i] * share);
    }
    add_lanes(into.products, width);
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

}  // namespace assay::norm_parts
