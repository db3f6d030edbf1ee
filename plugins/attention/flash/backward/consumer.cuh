#pragma once

#include "attention/flash/score_products.cuh"
#include "attention/flash/softmax.cuh"
#include "attention/flash/value_products.cuh"
#include "exchange.cuh"
#include "gradients.cuh"
#include "key_parts.cuh"
#include "products.cuh"
#include "query_sums.cuh"
#include "schedule.cuh"
#include "weights.cuh"

// A warpgroup has 64 keys: their scores, weights and slopes for a block of queries at a time, with
// keys as rows, so that weights and slopes are the left operands of dV and dK as they are.
namespace assay::flash {

// scores [64, n] = left [64, head] · rightᵀ [head, n], n = 2 · count queries, in steps of 16
// columns of the head: K Qᵀ and V dOᵀ; `add`: to what is there.
template <class T, bool add = false, int count>
__device__ __forceinline__ void start_transposed(float (&scores)[count], std::uint32_t left,
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

// Named barrier 2 + g is the turn of group g.
template <class T>
__device__ __forceinline__ void take_turn(int group) {
  if constexpr (T::takes_turns) wait_named(2 + group, 2 * warpgroup);
}
template <class T>
__device__ __forceinline__ void pass_turn(int group) {
  if constexpr (T::takes_turns) arrive_named(3 - group, 2 * warpgroup);
}

// Named barrier of the consumers; 0 is __syncthreads().
template <class T>
__device__ inline void meet_consumers() {
  wait_named(1, T::groups * warpgroup);
}

// Named barrier 4 + g is that of group g alone.
__device__ inline void meet_group(const Consumer& me) { wait_named(4 + me.group, warpgroup); }

__device__ inline KeyWork work_of(const int4& announced) {
  const int4 work = uniform(announced);
  return {work.x, work.y, work.z, work.w};
}

// What a warpgroup has behind it: tiles, blocks of queries, and the block whose sums of dQ are to
// be computed beneath the next block's weights, if any.
inline constexpr int no_block = -1;
struct Behind {
  unsigned tiles = 0, blocks = 0;
  int pending = no_block;
};

// A tile, in stage `stage` of keys. `columns` of the head are this warpgroup's of dQ. What is
// announced is read again at the end: registers are scarce.
template <class T, int columns>
__device__ __forceinline__ void consume_tile(const BackwardArguments& arguments,
                                             BackwardShared<T>& shared, const int4& announced,
                                             unsigned stage, Behind& behind, const Consumer& me) {
  using Element = typename T::Element;
  const Shape& shape = arguments.shape;
  const KeyWork work = work_of(announced);
  const QueryBlocks blocks = query_blocks_of<T>(arguments, work);
  constexpr bool carries = T::carries_sums;
  const unsigned value_stage = stage % T::value_stages;
  const int value_parity = Turn<T::value_stages>(behind.tiles).parity;
  // Of where the gradients of the tile before leave.
  std::uint64_t& departed = carries ? shared.values_empty[stage ^ 1] : shared.keys_empty[stage ^ 1];
  const int group_rows_at = me.group * group_rows * block_row_bytes;
  const std::uint32_t all_keys = shared_address(shared.keys[stage]);
  const std::uint32_t keys = all_keys + group_rows_at;
  const std::uint32_t values = shared_address(shared.values[value_stage]) + group_rows_at;
  // dQ's operands: by rows the warpgroup's 64 queries and all columns, else all queries and its own
  // block of columns.
  const std::uint32_t part = me.group * T::keys * block_row_bytes;
  const std::uint32_t right = all_keys + (T::sums_by_rows ? 0 : part);
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
  const bool follows = behind.tiles > 0;
  bool is_first = true;
  // Of the block before. To choose in each round would cost more registers than there are.
  std::uint32_t summed_keys = carries ? shared_address(shared.keys[stage ^ 1]) : right;

  // Of the slopes number `count`. Where they have not been written the sums are not used.
  const auto start_sums = [&](unsigned count, std::uint32_t of_keys, bool written = true) {
    const Turn<slope_stages> turn(count);
    if (written) wait(shared.slopes_full[turn.stage], turn.parity);
    start_query_sums<T>(sums, shared_address(shared.slopes[turn.stage]) + left_part, of_keys);
  };
  // In turns, where the tile counts, a block of threads has one.
  const auto end_sums = [&](int block) {
    pin(sums);
    add_sums<T>(sums, arguments, block, announced.x, me);
  };

  wait(shared.keys_full[stage], Turn<T::key_stages>(behind.tiles).parity);
  blocks.for_each([&](int head, int block) {
    const unsigned count = __shfl_sync(~0u, behind.blocks++, 0);
    const Turn<T::stages> turn(count);
    const Turn<slope_stages> slope_turn(count);
    const std::uint32_t queries = shared_address(shared.queries[turn.stage]);
    const std::uint32_t douts = shared_address(shared.douts[turn.stage]);

    const std::uint32_t my_lse = shared_address(shared.lse[turn.stage]) + me.column * 4;
    const std::uint32_t my_dot = shared_address(shared.minus_dot[turn.stage]) + me.column * 4;
    float2 lse[T::rows / 8], minus_dot[T::rows / 8];

    if (is_first) wait(shared.values_full[value_stage], value_parity);
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
    wait(shared.douts_full[turn.stage], turn.parity);
    start_transposed<T, T::starts_from_dot>(slopes, values, douts);
    bool beyond = false;
    if constexpr (!T::takes_turns) beyond = any_beyond(shared.lse[turn.stage], me.lane);
    wait_for_products<1>();
    pin(scores);
    if constexpr (T::takes_turns) beyond = ahead.any_beyond();
    hide_unseen(scores, mine, upper, lower, block, T::rows, me.column);
    if constexpr (T::takes_turns) read_numbers(lse, my_lse);
    weigh_by_lse(scores, shape.scale, lse, beyond);
    as_operand<Element>(weights, scores);
    start_key_sums<T>(dv, weights, douts);
    // Where none are pending, what lies there is multiplied in vain.
    const bool pending = carries ? behind.pending >= 0 : !is_first;
    start_sums(count - 1, summed_keys, pending);
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
    // Whoever has said that slopes number n − 1 are there, or has ended a tile, has read those of
    // number n − 3. dK of the tile before leaves from there by the warp's own rows.
    if (is_first && follows) end_writing(departed, me);
    write_transposed<T>(packed, shared_address(shared.slopes[slope_turn.stage]), me.warp * 16, 0,
                        me);
    // Beneath these products the slopes reach shared memory; without turns the other warpgroup
    // waits for them first.
    if constexpr (T::takes_turns) start_key_sums<T>(dk, packed, queries);
    announce_writes(shared.slopes_full[slope_turn.stage], me);
    if constexpr (!T::takes_turns) start_key_sums<T>(dk, packed, queries);
    wait_for_products<1>();
    pin(dv);
    pin(sums);
    if (me.lane == 0) arrive(shared.douts_empty[turn.stage]);
    if (pending) end_sums(behind.pending);
    if (carries && is_first && follows) release(shared.keys_empty[stage ^ 1], me);
    behind.pending = head * arguments.query_blocks + block;
    summed_keys = right;
    is_first = false;
    wait_for_products<0>();
    pin(dk);
    __syncwarp();  // all lanes have read log-sum-exps and D
    if (me.lane == 0) arrive(shared.queries_empty[turn.stage]);
  });
  if (blocks.total == 0) {
    wait(shared.values_full[value_stage], value_parity);
    if (follows) end_writing(departed, me);
    if (carries && follows) release(shared.keys_empty[stage ^ 1], me);
  }
  if constexpr (carries) {
    wait(shared.work_full[stage ^ 1], Turn<2>(behind.tiles + 1).parity);
  } else {
    release(shared.values_empty[value_stage], me);
  }
  if (blocks.total > 0 && (!carries || shared.work[stage ^ 1].w == nothing_seen)) {
    start_sums(behind.blocks - 1, right);
    wait_for_products<0>();
    end_sums(behind.pending);
    behind.pending = no_block;
  }

  const KeyWork same = work_of(announced);
  const bool whole = is_whole<T>(dk, dv, arguments, same, me);
  // What lies in the gradients' places has been read by all.
  if constexpr (carries) {
    meet_group(me);
  } else {
    meet_consumers<T>();
  }
  if (whole) leave<T>(dk, dv, arguments, shared, stage, same, me);
}

template <class T, int columns>
__device__ void consume_tiles(const BackwardArguments& arguments, BackwardShared<T>& shared,
                              const Consumer& me) {
  Behind behind;
  if (me.group == 1) pass_turn<T>(me.group);
  const auto next = [&](unsigned stage) {
    wait(shared.work_full[stage], Turn<2>(behind.tiles).parity);
    const int4& work = shared.work[stage];
    const bool all_done = work.x < 0;
    if (!all_done) consume_tile<T, columns>(arguments, shared, work, stage, behind, me);
    __syncwarp();
    release(shared.work_empty[stage], me);
    ++behind.tiles;
    return !all_done;
  };
  if constexpr (T::names_stages) {
    while (next(0) && next(1)) {
    }
  } else {
    while (next(behind.tiles % 2)) {
    }
  }
  if (me.group == 0) take_turn<T>(me.group);  // the one that is left
  let_next_begin();
  if (me.lane == 0) wait_for_reads();
}

}  // namespace assay::flash
