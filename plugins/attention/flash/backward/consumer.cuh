#pragma once

#include "attention/flash/score_products.cuh"
#include "attention/flash/softmax.cuh"
#include "attention/flash/value_products.cuh"
#include "key_parts.cuh"
#include "products.cuh"
#include "query_sums.cuh"
#include "schedule.cuh"

// A warpgroup has 64 keys: their scores, weights and slopes for a block of queries at a time, with
// keys as rows, so that weights and slopes are the left operands of dV and dK as they are.
namespace assay::flash {

// scores [64, rows] = left [64, head] · rightᵀ [head, rows], in steps of 16 columns of the head:
// K Qᵀ and V dOᵀ.
template <class T>
__device__ __forceinline__ void start_transposed(float (&scores)[T::rows / 2], std::uint32_t left,
                                                 std::uint32_t right) {
  begin_products();
#pragma unroll
  for (int step = 0; step < T::head / 16; ++step) {
    const int block = step * 16 / block_columns, bytes = step * 32 % block_row_bytes;
    add_scores<typename T::Element>(
        scores, advance(by_rows(left), block * T::keys * block_row_bytes + bytes),
        advance(by_rows(right), block * T::rows * block_row_bytes + bytes), step > 0);
  }
  end_products();
}

// gradient [64, head] += weights [64, rows] · tile [rows, head], in steps of 16 queries: Pᵀ dO and
// dSᵀ Q.
template <class T>
__device__ __forceinline__ void start_key_sums(float (&gradient)[T::head / 2],
                                               const std::uint32_t (&weights)[T::rows / 16][4],
                                               std::uint32_t tile) {
  begin_products();
#pragma unroll
  for (int step = 0; step < T::rows / 16; ++step) {
    add_values<typename T::Element>(gradient, weights[step],
                                    advance(by_columns(tile, T::rows), step * 16 * block_row_bytes),
                                    true);
  }
  end_products();
}

// sums [64, columns] = dS [64, keys] · K [keys, columns], in steps of 16 keys; in memory lies
// dSᵀ [keys, 64].
template <class T, int count>
__device__ __forceinline__ void start_query_sums(float (&sums)[count], std::uint32_t slopes,
                                                 std::uint32_t keys) {
  begin_products();
#pragma unroll
  for (int step = 0; step < T::keys / 16; ++step) {
    const int bytes = step * 16 * block_row_bytes;
    add_query_sums<typename T::Element>(sums, advance(by_columns(slopes, T::keys), bytes),
                                        advance(by_columns(keys, T::keys), bytes), step > 0);
  }
  end_products();
}

// scores [64, rows] become weights 2^(scale · score − lse) of their query.
template <int count>
__device__ __forceinline__ void weigh_by_lse(float (&scores)[count], float scale,
                                             std::uint32_t lse) {
#pragma unroll
  for (int i = 0; i < count / 4; ++i) {
    const float2 pair = load_shared_pair(lse + i * 32);
    scores[4 * i] = exp2_fast(__fmaf_rn(scores[4 * i], scale, -pair.x));
    scores[4 * i + 1] = exp2_fast(__fmaf_rn(scores[4 * i + 1], scale, -pair.y));
    scores[4 * i + 2] = exp2_fast(__fmaf_rn(scores[4 * i + 2], scale, -pair.x));
    scores[4 * i + 3] = exp2_fast(__fmaf_rn(scores[4 * i + 3], scale, -pair.y));
  }
}

// slopes = P ∘ (dP − D), where they come as dP.
template <int count>
__device__ __forceinline__ void slope(float (&slopes)[count], const float (&weights)[count],
                                      std::uint32_t dot) {
#pragma unroll
  for (int i = 0; i < count / 4; ++i) {
    const float2 pair = load_shared_pair(dot + i * 32);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      slopes[4 * i + j] = weights[4 * i + j] * (slopes[4 * i + j] - (j % 2 == 0 ? pair.x : pair.y));
    }
  }
}
template <class Element, int steps>
__device__ __forceinline__ void slope(float (&slopes)[8 * steps],
                                      const std::uint32_t (&weights)[steps][4], std::uint32_t dot) {
#pragma unroll
  for (int i = 0; i < 2 * steps; ++i) {
    const float2 pair = load_shared_pair(dot + i * 32);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 weight = unpack<Element>(weights[i / 2][i % 2 * 2 + half]);
      float* const two = slopes + 4 * i + 2 * half;
      two[0] = weight.x * (two[0] - pair.x);
      two[1] = weight.y * (two[1] - pair.y);
    }
  }
}

// A warp's 16 keys of dSᵀ: registers → [keys, rows] in shared memory.
template <class T>
__device__ __forceinline__ void write_slopes(const std::uint32_t (&slopes)[T::rows / 16][4],
                                             std::uint32_t tile, const Consumer& me) {
  const std::uint32_t start = tile + swizzled(me.warp * 16 + me.lane % 16, me.lane / 16);
#pragma unroll
  for (int step = 0; step < T::rows / 16; ++step) {
    store_matrices((start ^ step * 2 % 8 * 16) + step * 2 / 8 * T::keys * block_row_bytes,
                   slopes[step]);
  }
}

// A warp's 16 rows of dK or dV: registers → `tile` [keys, head] → the tensor. Rows beyond the last
// key and columns beyond the head are left out.
template <class T>
__device__ __forceinline__ void write_gradient(const float (&gradient)[T::head / 2], float scale,
                                               const CUtensorMap& map, std::byte* tile, Place place,
                                               const Consumer& me) {
  std::byte* const corner = tile + me.warp * 16 * block_row_bytes;
  const std::uint32_t start = shared_address(corner) + swizzled(me.lane % 16, me.lane / 16);
#pragma unroll
  for (int i = 0; i < T::head / 16; ++i) {
    std::uint32_t packed[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      packed[j] = pack<typename T::Element>(gradient[8 * i + 2 * j] * scale,
                                            gradient[8 * i + 2 * j + 1] * scale);
    }
    store_matrices((start ^ i * 2 % 8 * 16) + i * 2 / 8 * T::keys * block_row_bytes, packed);
  }
  show_shared_writes();
  __syncwarp();
  place.row += me.warp * 16;
  if (me.lane == 0) {
#pragma unroll
    for (int block = 0; block < T::blocks; ++block) {
      place.column = block * block_columns;
      store_box(map, place, corner + block * T::keys * block_row_bytes);
    }
    end_stores();
  }
}

// A warp's own value, read from its first lane, for uniform registers.
__device__ inline KeyWork uniform_work(int4 value) {
  const auto first = [](int number) { return __shfl_sync(~0u, number, 0); };
  return {first(value.x), first(value.y), first(value.z), first(value.w)};
}

// A thread's part of a tile's work. `columns` of the head are its warpgroup's of dQ.
template <class T, int columns>
class KeyTile {
 public:
  using Element = typename T::Element;

  __device__ __forceinline__ KeyTile(const BackwardArguments& arguments, BackwardShared<T>& shared,
                                     const Consumer& me)
      : arguments_(arguments), shared_(shared), me_(me) {}

  // The tile number `tile` of this block of threads.
  __device__ __forceinline__ void compute(const KeyWork& work, unsigned tile) {
    const Shape& shape = arguments_.shape;
    const QueryBlocks blocks(shape, work.tile, T::keys, T::rows, work.part,
                             arguments_.parts.blocks);
    const Turn<T::key_stages> turn(tile);
    const int first_row = me_.group * group_rows * block_row_bytes;
    const std::uint32_t keys = shared_address(shared_.keys[turn.stage]);
    const std::uint32_t values = shared_address(shared_.values[turn.stage]) + first_row;
    const BlockRange mine =
        seeing_blocks(shape, work.tile * T::keys + me_.group * group_rows, group_rows, T::rows);
#pragma unroll
    for (int i = 0; i < T::head / 2; ++i) dk_[i] = dv_[i] = 0;

    QueryBlock before = {0, work.batch, 0};
    bool first = true;
    wait(shared_.keys_full[turn.stage], turn.parity);
    blocks.for_each([&](int head_of_group, int block) {
      const unsigned count = __shfl_sync(~0u, count_++, 0);
      const Turn<T::stages> now(count);
      const std::uint32_t queries = shared_address(shared_.queries[now.stage]);
      const std::uint32_t douts = shared_address(shared_.douts[now.stage]);

      wait(shared_.queries_full[now.stage], now.parity);
      start_transposed<T>(scores_, keys + first_row, queries);
      if (first) wait(shared_.values_full[turn.stage], turn.parity);
      wait(shared_.douts_full[now.stage], now.parity);
      start_transposed<T>(slopes_, values, douts);
      wait_for_products<1>();
      pin(scores_);
      if (mine.needs_mask(block, T::rows)) hide_scores(work, block);
      weigh_by_lse(scores_, shape.scale, numbers(shared_.lse[now.stage]));
      as_operand<Element>(weights_, scores_);
      start_key_sums<T>(dv_, weights_, douts);
      // Where there is no block before, what lies there is multiplied in vain.
      start_sums(count - 1, keys, !first);
      wait_for_products<2>();
      pin(slopes_);
      if constexpr (T::exact_weights) {
        slope(slopes_, scores_, numbers(shared_.dot[now.stage]));
      } else {
        slope<Element>(slopes_, weights_, numbers(shared_.dot[now.stage]));
      }
      std::uint32_t packed[T::rows / 16][4];
      as_operand<Element>(packed, slopes_);
      start_key_sums<T>(dk_, packed, queries);
      wait_for_products<1>();
      pin(dv_);
      pin(sums_);
      release(shared_.douts_empty[now.stage], me_);
      // Whoever has written slopes number n has read those of number n − 2, whose place they take.
      write_slopes<T>(packed, shared_address(shared_.slopes[now.stage]), me_);
      show_shared_writes();
      __syncwarp();
      release(shared_.slopes_full[now.stage], me_);
      if (!first) add_sums<T>(sums_, arguments_, before, work.tile, me_);
      before = {work.head * (shape.heads / shape.kv_heads) + head_of_group, work.batch, block};
      first = false;
      wait_for_products<0>();
      pin(dk_);
      release(shared_.queries_empty[now.stage], me_);
    });
    if (first) {
      wait(shared_.values_full[turn.stage], turn.parity);
    } else {
      start_sums(count_ - 1, keys, true);
      wait_for_products<0>();
      pin(sums_);
      add_sums<T>(sums_, arguments_, before, work.tile, me_);
    }
    write_gradients(work, blocks, turn.stage);
  }

 private:
  // Of a number for each query, where this thread's begin.
  __device__ __forceinline__ std::uint32_t numbers(const float (&of_rows)[T::rows]) const {
    return shared_address(of_rows) + me_.column * 4;
  }

  __device__ __forceinline__ void hide_scores(const KeyWork& work, int block) {
    const int key = work.tile * T::keys + me_.row, column = block * T::rows + me_.column;
    hide(scores_, from_column(seeing_queries(arguments_.shape, key), column),
         from_column(seeing_queries(arguments_.shape, key + 8), column));
  }

  // The warpgroup's part of dQ from slopes number `count`: by rows its 64 queries and all columns,
  // else all queries and its block of columns. Slopes that have not been written are not waited
  // for.
  __device__ __forceinline__ void start_sums(unsigned count, std::uint32_t keys, bool written) {
    const std::uint32_t part = me_.group * T::keys * block_row_bytes;
    const Turn<2> turn(count);
    if (written) wait(shared_.slopes_full[turn.stage], turn.parity);
    start_query_sums<T>(sums_,
                        shared_address(shared_.slopes[turn.stage]) + (T::sums_by_rows ? part : 0),
                        keys + (T::sums_by_rows ? 0 : part));
  }

  __device__ __forceinline__ void write_gradients(const KeyWork& work, const QueryBlocks& blocks,
                                                  int stage) {
    bool whole = true;
    if (blocks.total > arguments_.parts.blocks) {
      const int tile =
          (work.batch * arguments_.shape.kv_heads + work.head) * arguments_.key_tiles + work.tile;
      const int parts = (blocks.total + arguments_.parts.blocks - 1) / arguments_.parts.blocks;
      whole = add_up_keys<T>(dk_, dv_, arguments_.parts, tile, work.part, parts, me_);
    }
    // Keys and values have been read by all. 0 is __syncthreads().
    wait_named(1, T::groups * warpgroup);
    if (whole) {
      const Place place = {0, work.tile * T::keys, work.head, work.batch};
      write_gradient<T>(dv_, 1, arguments_.dv, shared_.values[stage], place, me_);
      write_gradient<T>(dk_, arguments_.natural_scale, arguments_.dk, shared_.keys[stage], place,
                        me_);
      if (me_.lane == 0) wait_for_reads();
    }
    release(shared_.values_empty[stage], me_);
    release(shared_.keys_empty[stage], me_);
  }

  const BackwardArguments& arguments_;
  BackwardShared<T>& shared_;
  const Consumer& me_;
  unsigned count_ = 0;  // blocks of queries so far
  float dk_[T::head / 2], dv_[T::head / 2];
  float scores_[T::rows / 2], slopes_[T::rows / 2];
  std::uint32_t weights_[T::rows / 16][4];
  float sums_[columns / 2];
};

template <class T, int columns>
__device__ void consume_backward(const BackwardArguments& arguments, BackwardShared<T>& shared,
                                 const Consumer& me) {
  KeyTile<T, columns> tile(arguments, shared, me);
  for (unsigned tiles = 0;; ++tiles) {
    const Turn<2> announced(tiles);
    wait(shared.work_full[announced.stage], announced.parity);
    const KeyWork work = uniform_work(shared.work[announced.stage]);
    __syncwarp();
    release(shared.work_empty[announced.stage], me);
    if (work.part < 0) break;
    tile.compute(work, __shfl_sync(~0u, tiles, 0));
  }
  if (me.lane == 0) wait_for_stores();
}

}  // namespace assay::flash
