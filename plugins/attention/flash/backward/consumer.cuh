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
// K Qᵀ and V dOᵀ; `add`: to what is there.
template <class T, bool add = false>
__device__ __forceinline__ void start_transposed(float (&scores)[T::rows / 2], std::uint32_t left,
                                                 std::uint32_t right) {
  begin_products();
#pragma unroll
  for (int step = 0; step < T::head / 16; ++step) {
    const int block = step * 16 / block_columns, bytes = step * 32 % block_row_bytes;
    add_scores<typename T::Element>(
        scores, advance(by_rows(left), block * T::keys * block_row_bytes + bytes),
        advance(by_rows(right), block * T::rows * block_row_bytes + bytes), add || step > 0);
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

// Whether a query's scores are rounded by more than a weight bears (problem.h), or nearly: its
// lse has been lowered (rows.cu).
__device__ inline bool is_beyond(float lse) {
  return fabsf(lse) > 0.99F * rounded_beyond && lse != INFINITY;
}

// A block's log-sum-exps, shared out over the warp, read ahead of its products.
template <class T>
struct RowsAhead {
  static_assert(T::rows % warp == 0);
  float lse[T::rows / warp];

  __device__ __forceinline__ void read(const float* of_block, int lane) {
#pragma unroll
    for (int i = 0; i < T::rows / warp; ++i) {
      lse[i] = load_shared(shared_address(of_block) + (i * warp + lane) * 4);
    }
  }
  __device__ __forceinline__ bool any_beyond() {
    pin(lse);
    bool beyond = false;
#pragma unroll
    for (const float of_row : lse) beyond |= is_beyond(of_row);
    return __any_sync(~0u, beyond);
  }
};

template <int rows>
__device__ __forceinline__ bool any_beyond(const float (&lse)[rows], int lane) {
  bool beyond = false;
#pragma unroll
  for (int first = 0; first < rows; first += warp) beyond |= is_beyond(lse[first + lane]);
  return __any_sync(~0u, beyond);
}

// Named barrier 2 + g is the turn of group g.
template <class T>
__device__ __forceinline__ void take_turn(int group) {
  if constexpr (T::takes_turns) wait_named(2 + group, 2 * warpgroup);
}
template <class T>
__device__ __forceinline__ void pass_turn(int group) {
  if constexpr (T::takes_turns) arrive_named(3 - group, 2 * warpgroup);
}

// A number for each query, as a thread's columns of scores are: 8i + 2t and the one after it.
template <int pairs>
__device__ __forceinline__ void read_numbers(float2 (&numbers)[pairs], std::uint32_t from) {
#pragma unroll
  for (int i = 0; i < pairs; ++i) numbers[i] = load_shared_pair(from + i * 32);
}

// scores [64, rows] become weights 2^(scale · score − lse) of their query, at most 1 where such a
// score could be beyond its lse by its rounding.
template <bool at_most_1, int count>
__device__ __forceinline__ void weigh_by_lse(float (&scores)[count], float scale,
                                             const float2 (&lse)[count / 4]) {
  const auto weight = [&](float score, float of_query) {
    const float exponent = __fmaf_rn(score, scale, -of_query);
    return exp2_fast(at_most_1 ? smaller(exponent, 0) : exponent);
  };
#pragma unroll
  for (int i = 0; i < count / 4; ++i) {
    scores[4 * i] = weight(scores[4 * i], lse[i].x);
    scores[4 * i + 1] = weight(scores[4 * i + 1], lse[i].y);
    scores[4 * i + 2] = weight(scores[4 * i + 2], lse[i].x);
    scores[4 * i + 3] = weight(scores[4 * i + 3], lse[i].y);
  }
}

// slopes [64, rows] = −D.
template <int count>
__device__ __forceinline__ void begin_slopes(float (&slopes)[count],
                                             const float2 (&minus_dot)[count / 4]) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    slopes[i] = i % 2 == 0 ? minus_dot[i / 4].x : minus_dot[i / 4].y;
  }
  pin(slopes);  // the compiler would copy them among products, and wait for these
}

template <int count>
__device__ __forceinline__ void add_numbers(float (&slopes)[count],
                                            const float2 (&numbers)[count / 4]) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    slopes[i] += i % 2 == 0 ? numbers[i / 4].x : numbers[i / 4].y;
  }
}

// slopes = P ∘ (dP − D), where they come as dP − D.
template <class Element, int steps>
__device__ __forceinline__ void weigh_slopes(float (&slopes)[8 * steps],
                                             const std::uint32_t (&weights)[steps][4]) {
#pragma unroll
  for (int i = 0; i < 4 * steps; ++i) {
    const float2 weight = unpack<Element>(weights[i / 4][i % 4]);
    slopes[2 * i] *= weight.x;
    slopes[2 * i + 1] *= weight.y;
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

// Named barrier of the consumers; 0 is __syncthreads().
template <class T>
__device__ inline void meet_consumers() {
  wait_named(1, T::groups * warpgroup);
}

// `columns` of the head are this warpgroup's of dQ.
template <class T, int columns>
__device__ void consume_backward(const BackwardArguments& arguments, BackwardShared<T>& shared,
                                 const KeyWork& work, const QueryBlocks& blocks,
                                 const Consumer& me) {
  using Element = typename T::Element;
  const Shape& shape = arguments.shape;
  const int group_rows_at = me.group * group_rows * block_row_bytes;
  const std::uint32_t keys = shared_address(shared.keys) + group_rows_at;
  const std::uint32_t values = shared_address(shared.values) + group_rows_at;
  // dQ's operands: by rows the warpgroup's 64 queries and all columns, else all queries and its own
  // block of columns.
  const std::uint32_t part = me.group * T::keys * block_row_bytes;
  const std::uint32_t right = shared_address(shared.keys) + (T::sums_by_rows ? 0 : part);
  const std::uint32_t left_part = T::sums_by_rows ? part : 0;

  const int first_key = work.tile * T::keys + me.group * group_rows;
  const BlockRange mine = seeing_blocks(shape, first_key, group_rows, T::rows);
  const int row = work.tile * T::keys + me.row;
  const QueryRange upper = seeing_queries(shape, row), lower = seeing_queries(shape, row + 8);

  float dk[T::head / 2], dv[T::head / 2];
#pragma unroll
  for (int i = 0; i < T::head / 2; ++i) dk[i] = dv[i] = 0;
  float scores[T::rows / 2], slopes[T::rows / 2];
  std::uint32_t weights[T::rows / 16][4];
  float sums[columns / 2];
  QueryBlock before = {-1, work.batch, 0};
  unsigned done = 0;

  // Of the slopes number `count`. Where they have not been written the sums are not used.
  const auto start_sums = [&](unsigned count, bool written = true) {
    const Turn<slope_stages> turn(count);
    if (written) wait(shared.slopes_full[turn.stage], turn.parity);
    start_query_sums<T>(sums, shared_address(shared.slopes[turn.stage]) + left_part, right);
  };
  const auto end_sums = [&](QueryBlock at) {
    pin(sums);
    add_sums<T>(sums, arguments, at, work.tile, me);
  };

  if (me.group == 1) pass_turn<T>(me.group);
  wait(shared.keys_full, 0);
  blocks.for_each([&](int head_of_group, int block) {
    const int head = T::divides_heads_once
                         ? head_of_group
                         : work.head * (shape.heads / shape.kv_heads) + head_of_group;
    const unsigned count = __shfl_sync(~0u, done++, 0);
    const Turn<T::stages> turn(count);
    const Turn<slope_stages> slope_turn(count);
    const QueryBlock at = {head, work.batch, block};
    const std::uint32_t queries = shared_address(shared.queries[turn.stage]);
    const std::uint32_t douts = shared_address(shared.douts[turn.stage]);

    const std::uint32_t my_lse = shared_address(shared.lse[turn.stage]) + me.column * 4;
    const std::uint32_t my_dot = shared_address(shared.minus_dot[turn.stage]) + me.column * 4;
    float2 lse[T::rows / 8], minus_dot[T::rows / 8];

    wait(shared.queries_full[turn.stage], turn.parity);
    RowsAhead<T> ahead;
    if constexpr (T::takes_turns) ahead.read(shared.lse[turn.stage], me.lane);
    if constexpr (T::starts_from_dot) {
      read_numbers(minus_dot, my_dot);
      begin_slopes(slopes, minus_dot);
    }
    take_turn<T>(me.group);
    start_transposed<T>(scores, keys, queries);
    if constexpr (!T::takes_turns) read_numbers(lse, my_lse);
    if (count == 0) wait(shared.values_full, 0);
    wait(shared.douts_full[turn.stage], turn.parity);
    start_transposed<T, T::starts_from_dot>(slopes, values, douts);
    bool beyond = false;
    if constexpr (!T::takes_turns) beyond = any_beyond(shared.lse[turn.stage], me.lane);
    wait_for_products<1>();
    pin(scores);
    if constexpr (T::takes_turns) beyond = ahead.any_beyond();
    if (mine.needs_mask(block, T::rows)) {
      const int column = block * T::rows + me.column;
      hide(scores, from_column(upper, column), from_column(lower, column));
    }
    if constexpr (T::takes_turns) read_numbers(lse, my_lse);
    if (beyond) {
      weigh_by_lse<true>(scores, shape.scale, lse);
    } else {
      weigh_by_lse<false>(scores, shape.scale, lse);
    }
    as_operand<Element>(weights, scores);
    start_key_sums<T>(dv, weights, douts);
    // Where there is no block before, what lies there is multiplied in vain.
    start_sums(count - 1, count > 0);
    pass_turn<T>(me.group);
    wait_for_products<2>();
    pin(slopes);
    if constexpr (!T::starts_from_dot) {
      read_numbers(minus_dot, my_dot);
      add_numbers(slopes, minus_dot);
    }
    weigh_slopes<Element>(slopes, weights);
    std::uint32_t packed[T::rows / 16][4];
    as_operand<Element>(packed, slopes);
    // Whoever has said that slopes number n − 1 are there has read those of number n − 3.
    write_slopes<T>(packed, shared_address(shared.slopes[slope_turn.stage]), me);
    // Beneath these products the slopes reach shared memory; without turns the other warpgroup
    // waits for them first.
    if constexpr (T::takes_turns) start_key_sums<T>(dk, packed, queries);
    show_shared_writes();
    __syncwarp();
    if (me.lane == 0) arrive(shared.slopes_full[slope_turn.stage]);
    if constexpr (!T::takes_turns) start_key_sums<T>(dk, packed, queries);
    wait_for_products<1>();
    pin(dv);
    pin(sums);
    if (me.lane == 0) arrive(shared.douts_empty[turn.stage]);
    if (count > 0) end_sums(before);
    before = at;
    wait_for_products<0>();
    pin(dk);
    if (me.lane == 0) arrive(shared.queries_empty[turn.stage]);
  });
  if (me.group == 0) take_turn<T>(me.group);  // the one that is left
  if (done > 0) {
    start_sums(done - 1);
    wait_for_products<0>();
    end_sums(before);
  }

  bool whole = true;
  if (blocks.total > arguments.parts.blocks) {
    const int tile = (work.batch * shape.kv_heads + work.head) * arguments.key_tiles + work.tile;
    const int parts = (blocks.total + arguments.parts.blocks - 1) / arguments.parts.blocks;
    whole = add_up_keys<T>(dk, dv, arguments.parts, tile, work.part, parts, me);
  }
  let_next_begin();
  meet_consumers<T>();  // keys and values have been read by all
  if (whole) {
    const Place place = {0, work.tile * T::keys, work.head, work.batch};
    write_gradient<T>(dv, 1, arguments.dv, shared.values, place, me);
    write_gradient<T>(dk, arguments.shape.natural_scale, arguments.dk, shared.keys, place, me);
  }
  if (me.lane == 0) wait_for_reads();
}

}  // namespace assay::flash
