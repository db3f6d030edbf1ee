#pragma once

#include "finish.cuh"
#include "query_sums.cuh"

// Heads are worked on in rounds, and what the tiles of a round have added to dQ is finished by
// those of the round two on: by the three warps beside the producer's, while the others compute. It
// lies in the L2 cache still, and four rounds' places are enough.
namespace assay::flash {

inline constexpr int finishers = warpgroup - warp;

// Named barrier 4: the consumers have added all they have.
template <class T>
inline constexpr int finishers_and_consumers = finishers + T::groups* warpgroup;

template <class T>
__device__ inline void tell_finishers(const BackwardArguments& arguments) {
  if (arguments.rounds.ended != nullptr) arrive_named(4, finishers_and_consumers<T>);
}

// A block of queries of an earlier round: `sums` [rows, head] in pieces. `cleared` where the place
// is used again.
template <class T>
__device__ inline void finish_block(const BackwardArguments& arguments, int head, int block,
                                    float4* sums, bool cleared, int thread) {
  using Element = std::conditional_t<T::planes == 1, typename T::Element, float>;
  constexpr int pieces = T::head / eight;
  const Shape& shape = arguments.shape;
  const int first_row = block * T::rows;
  auto* const to = static_cast<Element*>(const_cast<void*>(arguments.dq.data)) +
                   offset(arguments.dq, head / shape.heads, head % shape.heads, first_row);
#pragma unroll 1
  for (int unit = thread; unit < T::rows / 2 * pieces; unit += finishers) {
    const int column = unit / 8 % pieces * eight;
    const int row = unit / 8 / pieces * 16 + unit % 8;
    float4* const mine = sums + unit * 4;
    if (first_row + row < shape.queries && column < shape.head) {
      finish_eight(mine, to + row * arguments.dq.row_stride + column, arguments.dq.row_stride,
                   first_row + row + 8 < shape.queries, shape.natural_scale);
    }
    if (!cleared) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) __stcg(mine + i, make_float4(0, 0, 0, 0));
  }
}

// Finishes this block's share of the round two before. Once that has ended it has cleared its own
// share of the one two before, where this round adds: `places_clear` is told.
template <class T>
__device__ inline void finish_earlier_round(const BackwardArguments& arguments,
                                            std::uint64_t& places_clear, int thread) {
  const Rounds& rounds = arguments.rounds;
  const int items = arguments.key_tiles * arguments.heads_at_once;
  const int round = static_cast<int>(blockIdx.x) / items, earlier = round - Rounds::behind;
  const bool finishes = rounds.ended != nullptr && earlier >= 0;
  while (finishes && look_at(rounds.ended + earlier) != static_cast<unsigned>(items)) {
  }
  if (thread == 0) arrive(places_clear);
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
