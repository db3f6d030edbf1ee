#pragma once

#include "finish.cuh"
#include "query_sums.cuh"

// Heads are worked on in rounds, and what the tiles of a round have added to dQ is finished by
// those of the round two on: by the three warps beside the producer's, while the others compute.
// Four rounds' places are enough, most of which stay in the L2 cache where rounds are short.
namespace assay::flash {

inline constexpr int finishers = warpgroup - warp;

// Named barrier 4: the consumers have added all they have.
template <class T>
inline constexpr int finishers_and_consumers = finishers + T::groups* warpgroup;

template <class T>
__device__ inline void end_sums_of_tile(const BackwardArguments& arguments) {
  let_next_begin();
  if (arguments.rounds.ended != nullptr) arrive_named(4, finishers_and_consumers<T>);
}

// A block of queries of an earlier round: `sums` [rows, head] in pieces. `cleared` where the place
// is used again. Two lanes' four columns at a time: a thread has 24 registers.
template <class T>
__device__ inline void finish_block(const BackwardArguments& arguments, int head, int block,
                                    float4* sums, bool cleared, int thread) {
  using Element = std::conditional_t<T::planes == 1, typename T::Element, float>;
  constexpr int columns = 4, pieces = T::head / 8;
  const Shape& shape = arguments.shape;
  const int first_row = block * T::rows;
  auto* const to = static_cast<Element*>(const_cast<void*>(arguments.dq.data)) +
                   offset(arguments.dq, head / shape.heads, head % shape.heads, first_row);
#pragma unroll 1
  for (int unit = thread; unit < T::rows * pieces; unit += finishers) {
    const int piece = unit / 16;
    const int column = piece % pieces * 8 + unit % 2 * columns;
    const int row = piece / pieces * 16 + unit / 2 % 8;
    float4* const mine = sums + unit * 2;
    if (first_row + row < shape.queries && column < shape.head) {
      finish_columns<columns>(mine, to + row * arguments.dq.row_stride + column,
                              arguments.dq.row_stride, first_row + row + 8 < shape.queries,
                              shape.natural_scale);
    }
    if (!cleared) continue;
    __stcg(mine, make_float4(0, 0, 0, 0));
    __stcg(mine + 1, make_float4(0, 0, 0, 0));
  }
}

// Finishes this block's share of the round two before. Once that has ended it has cleared its own
// share of the one two before, where this round adds: `places_clear` is told. Blocks of threads are
// taken to start in the order of their numbers.
template <class T>
__device__ inline void finish_earlier_round(const BackwardArguments& arguments,
                                            std::uint64_t& places_clear, int thread) {
  const Rounds& rounds = arguments.rounds;
  const int items = arguments.key_tiles * arguments.heads_at_once;
  const int round = static_cast<int>(blockIdx.x) / items, earlier = round - Rounds::behind;
  const bool finishes = rounds.ended != nullptr && earlier >= 0;
  const bool is_clear = round < Rounds::places;  // from the start
  if (is_clear && thread == 0) arrive(places_clear);
  while (finishes && look_at(rounds.ended + earlier) != static_cast<unsigned>(items)) {
  }
  if (!is_clear && thread == 0) arrive(places_clear);
  if (rounds.ended == nullptr) return;
  if (finishes) {
    const int heads = arguments.heads_at_once * (arguments.shape.heads / arguments.shape.kv_heads);
    const int blocks = heads * arguments.query_blocks;
    const int others = min(items, static_cast<int>(gridDim.x) - round * items);
    for (int at = static_cast<int>(blockIdx.x) % items; at < blocks; at += others) {
      const std::int64_t place = earlier % Rounds::places * std::int64_t{blocks} + at;
      finish_block<T>(
          arguments, earlier * heads + at / arguments.query_blocks, at % arguments.query_blocks,
          reinterpret_cast<float4*>(arguments.query_sums) + place * (T::rows * T::head / 4),
          earlier + Rounds::places < rounds.count, thread);
    }
  }
  wait_named(4, finishers_and_consumers<T>);
  if (thread == 0) move_on(rounds.ended + round);
}

}  // namespace assay::flash
