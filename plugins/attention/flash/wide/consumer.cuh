#pragma once

#include "attention/flash/backward/consumer.cuh"
#include "attention/flash/backward/exchange.cuh"
#include "attention/flash/backward/one_tile.cuh"
#include "tile.cuh"

// A warpgroup has 64 keys and half of the queries of each block: their scores, weights and slopes
// with keys as rows. Both write theirs to shared memory, where each reads all of them for its half
// of the columns of dV, dK and dQ.
namespace assay::flash {

// gradient [64 keys, columns] += weights [64, rows] · tile [rows, columns], in steps of 16 queries:
// Pᵀ dO and dSᵀ Q. `tile` is at the first of the columns.
template <class T>
__device__ __forceinline__ void start_wide_key_sums(float (&gradient)[T::first_columns / 2],
                                                    std::uint32_t weights, std::uint32_t tile) {
  begin_products();
#pragma unroll
  for (int step = 0; step < T::rows / 16; ++step) {
    add_query_sums<typename T::Element, /*left_by_rows=*/true>(
        gradient, advance(by_rows(weights), step * 32),
        advance(by_columns(tile, T::rows), step * 16 * block_row_bytes), true);
  }
  end_products();
}

template <class T>
__device__ void init_barriers(WideShared<T>& shared) {
  init_load_barriers<T>(shared);
  init_barrier(shared.weights_full, T::consumer_warps);
  init_barrier(shared.slopes_full, T::consumer_warps);
  publish_barriers();
}

template <class T>
__device__ void consume_one_tile(const BackwardArguments& arguments, WideShared<T>& shared,
                                 const KeyWork& work, const QueryBlocks& blocks,
                                 const Consumer& me) {
  using Element = typename T::Element;
  constexpr int steps = T::group_queries / 16;
  const Shape& shape = arguments.shape;
  const int first_query = me.group * T::group_queries;  // of a block
  const int my_rows = first_query * block_row_bytes;
  const int my_columns = me.group * tile_bytes(T::keys, T::first_columns);
  const std::uint32_t keys = shared_address(shared.keys), values = shared_address(shared.values);

  const BlockRange seen = seeing_blocks(shape, work.tile * T::keys, T::keys, T::rows);
  const int row = work.tile * T::keys + me.row;
  const QueryRange upper = seeing_queries(shape, row), lower = seeing_queries(shape, row + 8);

  float dk[T::first_columns / 2], dv[T::first_columns / 2];
#pragma unroll
  for (int i = 0; i < T::first_columns / 2; ++i) dk[i] = dv[i] = 0;
  float sums[T::first_columns / 2];
  // Of the block before, beneath this one's slopes. Before the first, what lies there is multiplied
  // in vain: products under a condition would not run beside others.
  const auto start_sums = [&](unsigned count) {
    start_query_sums<T>(sums, shared_address(shared.slopes[count % exchange_stages]),
                        keys + my_columns);
  };
  int pending = no_block;

  wait(shared.keys_full[0], 0);
  unsigned done = 0;
  blocks.for_each([&](int head, int block) {
    const unsigned count = __shfl_sync(~0u, done++, 0);
    const Turn<T::stages> turn(count);
    const int parity = static_cast<int>(count % 2);
    const std::uint32_t queries = shared_address(shared.queries[turn.stage]);
    const std::uint32_t douts = shared_address(shared.douts[turn.stage]);
    const std::uint32_t weight_tile = shared_address(shared.weights[count % exchange_stages]);
    const std::uint32_t slope_tile = shared_address(shared.slopes[count % exchange_stages]);
    const int my_number = (first_query + me.column) * 4;

    float scores[T::group_queries / 2], slopes[T::group_queries / 2];
    wait(shared.queries_full[turn.stage], turn.parity);
    start_transposed<T>(scores, keys, queries + my_rows);
    if (count == 0) wait(shared.values_full[0], 0);
    wait(shared.douts_full[turn.stage], turn.parity);
    start_transposed<T>(slopes, values, douts + my_rows);
    float2 numbers[T::group_queries / 8];
    read_numbers(numbers, shared_address(shared.lse[turn.stage]) + my_number);
    const bool beyond = any_beyond(shared.lse[turn.stage], me.lane);
    wait_for_products<1>();
    pin(scores);
    hide_unseen(scores, seen, upper, lower, block, T::rows, first_query + me.column);
    weigh_by_lse(scores, shape.scale, numbers, beyond);
    std::uint32_t weights[steps][4];
    as_operand<Element>(weights, scores);
    write_transposed<T>(weights, weight_tile, key_warp_of<T>(me) * 16, first_query, me);
    announce_writes(shared.weights_full, me);

    start_sums(count - 1);
    wait(shared.weights_full, parity);
    start_wide_key_sums<T>(dv, weight_tile, douts + my_columns);
    read_numbers(numbers, shared_address(shared.minus_dot[turn.stage]) + my_number);
    wait_for_products<2>();
    pin(slopes);
    add_numbers(slopes, numbers);
    weigh_slopes<Element>(slopes, weights);
    std::uint32_t packed[steps][4];
    as_operand<Element>(packed, slopes);
    write_transposed<T>(packed, slope_tile, key_warp_of<T>(me) * 16, first_query, me);
    announce_writes(shared.slopes_full, me);

    wait(shared.slopes_full, parity);
    start_wide_key_sums<T>(dk, slope_tile, queries + my_columns);
    wait_for_products<1>();
    pin(sums);
    pin(dv);
    release(shared.douts_empty[turn.stage], me);
    if (pending != no_block) add_sums<T>(sums, arguments, pending, work.tile, me);
    pending = head * arguments.query_blocks + block;
    wait_for_products<0>();
    pin(dk);
    __syncwarp();  // all lanes have read log-sum-exps and D
    release(shared.queries_empty[turn.stage], me);
  });
  if (pending != no_block) {
    start_sums(done - 1);
    wait_for_products<0>();
    pin(sums);
    add_sums<T>(sums, arguments, pending, work.tile, me);
  }

  let_next_begin();
  meet_consumers<T>();  // keys and values have been read by all
  if (!is_whole<T>(dk, dv, arguments, work, me)) return;
  const Place place = {0, work.tile * T::keys, work.head, work.batch};
  write_gradient<T>(dv, 1, arguments.dv, shared.values[0], place, me);
  write_gradient<T>(dk, shape.natural_scale, arguments.dk, shared.keys[0], place, me);
  if (me.lane == 0) wait_for_reads();
}

}  // namespace assay::flash
