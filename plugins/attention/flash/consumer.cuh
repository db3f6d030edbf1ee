#pragma once

#include "instructions.cuh"
#include "mask.cuh"
#include "output.cuh"
#include "planes/pairs.cuh"
#include "problem.h"
#include "schedule.cuh"
#include "score_products.cuh"
#include "softmax.cuh"
#include "tile.cuh"
#include "value_products.cuh"

// A warpgroup computes 64 queries of each tile: scores, softmax, weighted values.
namespace assay::flash {

// The order of warpgroups: each issues when the one before has. Named barrier 1 + g is the turn of
// group g; 0 is __syncthreads().
template <class T>
struct Turns {
  static constexpr bool taken = T::flow.turns && T::groups > 1;

  // The last group hands the first turn out.
  static __device__ void begin(int group) {
    if constexpr (taken) {
      if (group == T::groups - 1) arrive_named(1, 2 * warpgroup);
    }
  }
  static __device__ void take(int group) {
    if constexpr (taken) wait_named(1 + group, 2 * warpgroup);
  }
  static __device__ void pass(int group) {
    if constexpr (taken) {
      arrive_named(group == T::groups - 1 ? 1 : 2 + group, 2 * warpgroup);
    }
  }
  // The turn nobody takes.
  static __device__ void end(int group) {
    if constexpr (taken) {
      if (group == 0) wait_named(1, 2 * warpgroup);
    }
  }
};

// scores [64, keys] = queries [64, head] · keysᵀ [head, keys], in steps of 16 columns of the head.
// Operands are descriptors of their first steps.
template <class T>
__device__ __forceinline__ void start_scores(float (&scores)[T::keys / 2], std::uint64_t queries,
                                             std::uint64_t keys) {
  start_products<T::planes, T::head / 16>([&](int left, int right, int step, bool add) {
    const int block = step * 16 / block_columns, bytes = step * 32 % block_row_bytes;
    add_scores<typename T::Element>(
        scores, advance(queries, (left * T::blocks + block) * T::rows * block_row_bytes + bytes),
        advance(keys, (right * T::blocks + block) * T::keys * block_row_bytes + bytes), add);
  });
}

// A warp's 16 queries as the left operand of steps of 16 columns.
template <class T>
__device__ __forceinline__ void read_queries(std::uint32_t (&queries)[T::head / 16][4],
                                             std::uint32_t tile, const Consumer& me) {
  const int row = me.warp * 16 + me.lane % 16;
#pragma unroll
  for (int step = 0; step < T::head / 16; ++step) {
    const int piece = step * 2 + me.lane / 16;
    load_matrices(queries[step],
                  tile + piece / 8 * T::rows * block_row_bytes + swizzled(row, piece % 8));
  }
}

template <class T>
__device__ __forceinline__ void start_scores(float (&scores)[T::keys / 2],
                                             const std::uint32_t (&queries)[T::head / 16][4],
                                             std::uint64_t keys) {
  begin_products();
#pragma unroll
  for (int step = 0; step < T::head / 16; ++step) {
    const int block = step * 16 / block_columns, bytes = step * 32 % block_row_bytes;
    add_scores<typename T::Element>(
        scores, queries[step], advance(keys, block * T::keys * block_row_bytes + bytes), step > 0);
  }
  end_products();
}

// output [64, head] += weights [64, keys] · values [keys, head], in steps of 16 keys; of planes the
// product alone.
template <class T>
__device__ __forceinline__ void start_values(
    float (&output)[T::head / 2], const std::uint32_t (&weights)[T::planes][T::keys / 16][4],
    std::uint64_t values) {
  using Element = typename T::Element;
  constexpr int steps = T::keys / 16;
  const auto add_step = [&](int left, int right, int step, bool adds) {
    const auto operand =
        advance(values, (right * T::blocks * T::keys + step * 16) * block_row_bytes);
    const auto& weight = weights[left][step];
    const bool add = T::planes == 1 || adds;
    if constexpr (T::flow.split_values && T::head > block_columns) {
      constexpr int first = block_columns / 2, rest = T::head / 2 - first;
      add_values<Element>(reinterpret_cast<float(&)[first]>(output[0]), weight, operand, add);
      add_values<Element>(reinterpret_cast<float(&)[rest]>(output[first]), weight,
                          advance(operand, T::keys * block_row_bytes), add);
    } else {
      add_values<Element>(output, weight, operand, add);
    }
    if (T::flow.halves_values && step == steps / 2 - 1) end_products();
  };
  start_products<T::planes, steps>(add_step);
}

template <class T>
__device__ void consume(const Arguments& arguments, Shared<T>& shared, int thread) {
  using Element = typename T::Element;
  const Shape& shape = arguments.shape;
  const Consumer me = consumer_of(thread);
  unsigned tiles = 0;   // items taken by this block of threads before
  unsigned blocks = 0;  // and blocks of keys
  float output[T::head / 2];
  // Of planes a block's product, added to the output outside of the tensor cores, which cut sums
  // off where they should round.
  float part[T::planes == 1 ? 1 : T::head / 2];
  float scores[T::keys / 2];
  std::uint32_t weights[T::planes][T::keys / 16][4];
  std::uint32_t my_queries[T::flow.queries_in_registers ? T::head / 16 : 1][4];

  // A buffer is a number of bytes on from the first of its ring.
  const std::uint64_t all_queries = by_rows(shared_address(shared.queries));
  const std::uint64_t all_keys = by_rows(shared_address(shared.keys));
  const std::uint64_t all_values = by_columns(shared_address(shared.values), T::keys);

  Turns<T>::begin(me.group);
  while (true) {
    const Turn<2> announced(tiles);
    wait(shared.work_full[announced.stage], announced.parity);
    const int4 work = uniform(shared.work[announced.stage]);
    __syncwarp();
    release(shared.work_empty[announced.stage], me);
    if (work.w < 0) break;

    const Turn<T::query_stages> mine(__shfl_sync(~0u, tiles++, 0));
    const int first_row = first_row_of<T>(shape, work.x);
    const BlockRange loaded =
        seen_blocks(shape, first_row, T::rows, T::keys).part(work.w, arguments.parts.blocks);
    const BlockRange range = blocks_of_group<T>(shape, first_row, me.group, loaded);
    Softmax softmax(arguments.scale);
#pragma unroll
    for (float& element : output) element = 0;

    // Weights as the left operand: of one plane packed as they come.
    const auto keep = [&](int pair, float x, float y) {
      if constexpr (T::planes == 1) weights[0][pair / 4][pair % 4] = pack<Element>(x, y);
    };
    const auto weigh = [&](float2 factors) {
      softmax.weigh(scores, arguments.scale, factors, keep);
      if constexpr (T::planes > 1) as_operands<Element>(weights, scores);
    };
    using BlockTurn = Turn<T::stages>;
    const auto await_scores = [&](BlockTurn turn) {
      wait(shared.keys_full[turn.stage], turn.parity);
    };
    const auto await_values = [&](BlockTurn turn) {
      wait(shared.values_full[turn.stage], turn.parity);
    };
    // Blocks of which only other warpgroups see something.
    const auto pass_over = [&](int count) {
      for (const unsigned end = blocks + count; blocks != end; ++blocks) {
        const BlockTurn passed(blocks);
        await_scores(passed);
        Turns<T>::take(me.group);
        Turns<T>::pass(me.group);
        __syncwarp();
        release(shared.keys_empty[passed.stage], me);
        await_values(passed);
        __syncwarp();
        release(shared.values_empty[passed.stage], me);
      }
    };
    pass_over(loaded.end - range.end);
    BlockTurn turn(__shfl_sync(~0u, blocks, 0));
    blocks += range.count();
    const auto begin_scores = [&](BlockTurn turn) {
      const std::uint64_t right = advance(all_keys, turn.stage * T::key_bytes);
      if constexpr (T::flow.queries_in_registers) {
        start_scores<T>(scores, my_queries, right);
      } else {
        start_scores<T>(scores,
                        advance(all_queries, mine.stage * T::query_bytes +
                                                 me.group * group_rows * block_row_bytes),
                        right);
      }
    };
    const auto hide_unseen = [&](int block) {
      pin(scores);
      if (!range.needs_mask(block, T::keys)) return;
      const int row = first_row + me.row, column = block * T::keys + me.column;
      const KeyRange upper = from_column(seen_keys(shape, row), column);
      const KeyRange lower = from_column(seen_keys(shape, row + 8), column);
      if constexpr (T::fits_mask) {
        hide_by_bits(scores, upper, lower);
      } else {
        hide(scores, upper, lower);
      }
    };
    // Takes a block's scores in, and returns by what earlier weights shrink. Giving the keys back
    // depends on the maxima, and so stands behind them, as does the wait for values that follows:
    // the assembler moves a wait for products in front of arithmetic that was to run under them.
    // One and two warpgroups wait a little later. What is asked is always so, of NaN too (scales
    // are positive), but the compiler does not know.
    const auto end_scores = [&](int block, BlockTurn turn) {
      hide_unseen(block);
      const float2 factors = softmax.raise(scores, arguments.scale);
      const bool computed =
          T::groups > 2 ? softmax.most[0] >= arguments.scale.least : !(factors.x + factors.y > 3);
      if (computed) release(shared.keys_empty[turn.stage], me);
      return factors;
    };
    const auto begin_values = [&](BlockTurn turn) {
      const std::uint64_t right = advance(all_values, turn.stage * T::key_bytes);
      if constexpr (T::planes == 1) {
        start_values<T>(output, weights, right);
      } else {
        start_values<T>(part, weights, right);
      }
    };
    const auto end_values = [&](BlockTurn turn) {
      if constexpr (T::planes == 1) {
        pin(output);
      } else {
        pin(part);
#pragma unroll
        for (int i = 0; i < T::head / 2; ++i) output[i] += part[i];
      }
      release(shared.values_empty[turn.stage], me);
    };

    // The block's weights, and the values of the block before, which are still being computed.
    const auto weigh_beneath_values = [&](int block, BlockTurn before) {
      wait_for_products<1>();
      const float2 factors = end_scores(block, turn);
      wait_for_products<0>();
      end_values(before);
      scale_rows(output, factors);
      weigh(factors);
    };
    bool keys_there = false, values_there = false;  // of the next block, where it looks ahead
    // The same by guesses. One that does not hold leaves the scores as they were.
    const auto guess_beneath_values = [&](int block, BlockTurn before) {
      constexpr int all = T::keys / 2;
      constexpr int beneath = T::flow.halves_values ? T::keys / 32 * 8 : 0;
      wait_for_products<1>();
      hide_unseen(block);
      Guess guess = softmax.guess(arguments.scale);
      guess.template weigh<0, beneath>(scores, keep);
      // Always so, but the keys are then given back behind the exponentials, as in end_scores.
      const bool computed = !(guess.sum[0] + guess.sum[1] < arguments.scale.least);
      if (beneath == 0 || computed) release(shared.keys_empty[turn.stage], me);
      wait_for_products<0>();
      end_values(before);
      if constexpr (T::flow.looks_ahead) {
        BlockTurn after = turn;
        after.advance();
        values_there = phase_has_ended_now(shared.values_full[turn.stage], turn.parity);
        keys_there = phase_has_ended_now(shared.keys_full[after.stage], after.parity);
      }
      guess.template weigh<beneath, all>(scores, keep);
      if (guess.template holds<Element>()) {
        softmax.take(guess);
      } else {
        const float2 factors = softmax.raise(scores, arguments.scale);
        scale_rows(output, factors);
        weigh(factors);
      }
    };

    wait(shared.queries_full[mine.stage], mine.parity);
    if constexpr (T::flow.queries_in_registers) {
      read_queries<T>(my_queries, shared_address(shared.queries[mine.stage]), me);
    }
    if constexpr (T::flow.overlap) {
      if (!range.empty()) {
        await_scores(turn);
        Turns<T>::take(me.group);
        begin_scores(turn);
        Turns<T>::pass(me.group);
        wait_for_products<0>();
        weigh(end_scores(range.end - 1, turn));
        for (int block = range.end - 2; block >= range.first; --block) {
          const BlockTurn before = turn;
          turn.advance();
          if (!keys_there) await_scores(turn);
          if (!values_there) await_values(before);
          Turns<T>::take(me.group);
          begin_scores(turn);
          begin_values(before);
          Turns<T>::pass(me.group);
          if constexpr (T::flow.guesses) {
            guess_beneath_values(block, before);
          } else {
            weigh_beneath_values(block, before);
          }
        }
        if constexpr (!T::output_over_queries) release(shared.queries_empty[mine.stage], me);
        await_values(turn);
        begin_values(turn);
        wait_for_products<0>();
        end_values(turn);
      } else if constexpr (!T::output_over_queries) {
        __syncwarp();  // all lanes have seen that the queries are there
        release(shared.queries_empty[mine.stage], me);
      }
    } else {
      for (int block = range.end - 1; block >= range.first; --block) {
        await_scores(turn);
        Turns<T>::take(me.group);
        begin_scores(turn);
        Turns<T>::pass(me.group);
        wait_for_products<0>();
        const float2 factors = end_scores(block, turn);
        scale_rows(output, factors);
        weigh(factors);
        await_values(turn);
        begin_values(turn);
        wait_for_products<0>();
        end_values(turn);
        turn.advance();
      }
      if constexpr (!T::output_over_queries) release(shared.queries_empty[mine.stage], me);
    }
    pass_over(range.first - loaded.first);

    finish_item<T>(output, softmax, arguments, shared, work, mine.stage, me);
  }
  Turns<T>::end(me.group);
  if (me.lane == 0) wait_for_reads();
}

}  // namespace assay::flash
