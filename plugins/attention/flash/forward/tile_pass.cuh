#pragma once

#include <cstdint>

#include "attention/flash/instructions.cuh"
#include "attention/flash/mask.cuh"
#include "attention/flash/problem.h"
#include "attention/flash/softmax.cuh"
#include "attention/flash/threads.cuh"
#include "attention/flash/tile.cuh"
#include "products.cuh"
#include "turns.cuh"

// A warpgroup's way through the blocks of keys of a tile, from the last to the first.
namespace assay::flash {

// What a thread of a warpgroup computes in.
template <class T>
struct Registers {
  float output[T::head / 2];
  // Of planes a block's product, added to the output outside of the tensor cores, which cut sums
  // off where they should round.
  float part[T::planes == 1 ? 1 : T::head / 2];
  float scores[T::keys / 2];
  std::uint32_t weights[T::planes][T::keys / 16][4];
  std::uint32_t queries[T::flow.queries_in_registers ? T::head / 16 : 1][4];
};

// Rings of buffers, of which one is a number of bytes on from the first.
template <class T>
struct Operands {
  std::uint64_t queries, keys, values;

  __device__ explicit Operands(const Shared<T>& shared)
      : queries(by_rows(shared_address(shared.queries))),
        keys(by_rows(shared_address(shared.keys))),
        values(by_columns(shared_address(shared.values), T::keys)) {}
};

template <class T>
struct TilePass {
  using Element = typename T::Element;
  using BlockTurn = Turn<T::stages>;

  const Arguments& arguments;
  Shared<T>& shared;
  const Operands<T>& operands;
  const Consumer& me;
  Registers<T>& registers;
  int query_stage;
  int first_row;
  BlockRange range;  // of which this warpgroup sees something
  Softmax softmax;
  BlockTurn turn;                                 // of the block whose scores are taken in
  bool keys_there = false, values_there = false;  // of the next block, where it looks ahead

  __device__ __forceinline__ void await_keys(BlockTurn of) {
    wait(shared.keys_full[of.stage], of.parity);
  }
  __device__ __forceinline__ void await_values(BlockTurn of) {
    wait(shared.values_full[of.stage], of.parity);
  }

  __device__ __forceinline__ void begin_scores() {
    const std::uint64_t right = advance(operands.keys, turn.stage * T::key_bytes);
    if constexpr (T::flow.queries_in_registers) {
      start_scores<T>(registers.scores, registers.queries, right);
    } else {
      start_scores<T>(registers.scores,
                      advance(operands.queries, query_stage * T::query_bytes +
                                                    me.group * group_rows * block_row_bytes),
                      right);
    }
  }

  __device__ __forceinline__ void hide_unseen(int block) {
    pin(registers.scores);
    if (!range.needs_mask(block, T::keys)) return;
    const int row = first_row + me.row, column = block * T::keys + me.column;
    const KeyRange upper = from_column(seen_keys(arguments.shape, row), column);
    const KeyRange lower = from_column(seen_keys(arguments.shape, row + 8), column);
    if constexpr (T::fits_mask) {
      hide_by_bits(registers.scores, upper, lower);
    } else {
      hide(registers.scores, upper, lower);
    }
  }

  // Takes a block's scores in, and returns by what earlier weights shrink. Giving the keys back
  // depends on the maxima, and so stands behind them, as does the wait for values that follows:
  // the assembler moves a wait for products in front of arithmetic that was to run under them.
  // One and two warpgroups wait a little later. What is asked is always so, of NaN too (scales
  // are positive), but the compiler does not know.
  __device__ __forceinline__ float2 end_scores(int block) {
    hide_unseen(block);
    const float2 factors = softmax.raise(registers.scores, arguments.scale);
    const bool computed =
        T::groups > 2 ? softmax.most[0] >= arguments.scale.least : !(factors.x + factors.y > 3);
    if (computed) release(shared.keys_empty[turn.stage], me);
    return factors;
  }

  // Weights of scores [first, end) as the left operand: of one plane packed as they come.
  template <int first, int end>
  __device__ __forceinline__ void weigh(Weighing& weighing) {
    weighing.weigh<first, end>(registers.scores, [&](int pair, float x, float y) {
      if constexpr (T::planes == 1) {
        registers.weights[0][pair / 4][pair % 4] = pack<Element>(x, y);
      } else {
        registers.scores[2 * pair] = x;
        registers.scores[2 * pair + 1] = y;
      }
    });
  }

  // The same of a block whose scores are taken in.
  __device__ __forceinline__ void weigh_block() {
    Weighing weighing = softmax.weighing(arguments.scale);
    weigh<0, T::keys / 2>(weighing);
    softmax.take(weighing);
    if constexpr (T::planes > 1) as_operands<Element>(registers.weights, registers.scores);
  }

  __device__ __forceinline__ void begin_values(BlockTurn of) {
    const std::uint64_t right = advance(operands.values, of.stage * T::key_bytes);
    if constexpr (T::planes == 1) {
      start_values<T>(registers.output, registers.weights, right);
    } else {
      start_values<T>(registers.part, registers.weights, right);
    }
  }

  __device__ __forceinline__ void end_values(BlockTurn of) {
    if constexpr (T::planes == 1) {
      pin(registers.output);
    } else {
      pin(registers.part);
#pragma unroll
      for (int i = 0; i < T::head / 2; ++i) registers.output[i] += registers.part[i];
    }
    release(shared.values_empty[of.stage], me);
  }

  // The block's weights, and the values of the block before, which are still being computed.
  __device__ __forceinline__ void weigh_beneath_values(int block, BlockTurn before) {
    wait_for_products<1>();
    const float2 factors = end_scores(block);
    wait_for_products<0>();
    end_values(before);
    scale_rows(registers.output, factors);
    weigh_block();
  }

  // The same by guesses. One that does not hold leaves the scores as they were.
  __device__ __forceinline__ void guess_beneath_values(int block, BlockTurn before) {
    constexpr int beneath = T::flow.halves_values ? T::keys / 32 * 8 : 0;
    Weighing guess = softmax.weighing(arguments.scale);  // while the scores are computed
    wait_for_products<1>();
    hide_unseen(block);
    weigh<0, beneath>(guess);
    // Always so, but the keys are then given back behind the exponentials, as in end_scores.
    const bool computed = !(guess.sum[0] + guess.sum[1] < arguments.scale.least);
    if (beneath == 0 || computed) release(shared.keys_empty[turn.stage], me);
    wait_for_products<0>();
    end_values(before);
    if constexpr (T::flow.looks_ahead) look_ahead();
    weigh<beneath, T::keys / 2>(guess);
    if (guess.holds<Element>()) {
      softmax.take(guess);
    } else {
      const float2 factors = softmax.raise(registers.scores, arguments.scale);
      scale_rows(registers.output, factors);
      weigh_block();
    }
  }

  __device__ __forceinline__ void look_ahead() {
    BlockTurn after = turn;
    after.advance();
    values_there = phase_has_ended_now(shared.values_full[turn.stage], turn.parity);
    keys_there = phase_has_ended_now(shared.keys_full[after.stage], after.parity);
  }

  // Of the block at `turn`, with nothing else beneath them: scores, weighted values.
  __device__ __forceinline__ void compute_scores() {
    await_keys(turn);
    Turns<T>::take(me.group);
    begin_scores();
    Turns<T>::pass(me.group);
    wait_for_products<0>();
  }
  __device__ __forceinline__ void add_values_of_block() {
    await_values(turn);
    begin_values(turn);
    wait_for_products<0>();
    end_values(turn);
  }

  // Each block's scores are computed beside the weighted values of the block before.
  __device__ __forceinline__ void overlapped() {
    compute_scores();
    end_scores(range.end - 1);  // nothing is there to shrink
    weigh_block();
    for (int block = range.end - 2; block >= range.first; --block) {
      const BlockTurn before = turn;
      turn.advance();
      if (!keys_there) await_keys(turn);
      if (!values_there) await_values(before);
      Turns<T>::take(me.group);
      begin_scores();
      begin_values(before);
      Turns<T>::pass(me.group);
      if constexpr (T::flow.guesses) {
        guess_beneath_values(block, before);
      } else {
        weigh_beneath_values(block, before);
      }
    }
    give_queries_back();
    add_values_of_block();
  }

  __device__ __forceinline__ void one_after_another() {
    for (int block = range.end - 1; block >= range.first; --block) {
      compute_scores();
      const float2 factors = end_scores(block);
      scale_rows(registers.output, factors);
      weigh_block();
      add_values_of_block();
      turn.advance();
    }
    give_queries_back();
  }

  __device__ __forceinline__ void give_queries_back() {
    if constexpr (!T::output_over_queries) release(shared.queries_empty[query_stage], me);
  }

  // Computes output, not yet divided by the weights' sum, and softmax.
  __device__ __forceinline__ void run() {
    if constexpr (T::flow.queries_in_registers) {
      read_queries<T>(registers.queries, shared_address(shared.queries[query_stage]), me);
    }
    if constexpr (!T::flow.overlap) {
      one_after_another();
    } else if (!range.empty()) {
      overlapped();
    } else if constexpr (!T::output_over_queries) {
      __syncwarp();  // all lanes have seen that the queries are there
      give_queries_back();
    }
  }
};

// Blocks of which only other warpgroups see something; `blocks` counts those that have come by.
template <class T>
__device__ __forceinline__ void pass_over(int count, unsigned& blocks, Shared<T>& shared,
                                          const Consumer& me) {
  for (const unsigned end = blocks + count; blocks != end; ++blocks) {
    const Turn<T::stages> passed(blocks);
    wait(shared.keys_full[passed.stage], passed.parity);
    Turns<T>::take(me.group);
    Turns<T>::pass(me.group);
    __syncwarp();
    release(shared.keys_empty[passed.stage], me);
    wait(shared.values_full[passed.stage], passed.parity);
    __syncwarp();
    release(shared.values_empty[passed.stage], me);
  }
}

}  // namespace assay::flash
