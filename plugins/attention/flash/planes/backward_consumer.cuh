#pragma once

#include "attention/flash/backward/consumer.cuh"
#include "attention/flash/backward/exchange.cuh"
#include "attention/flash/backward/one_tile.cuh"
#include "backward_products.cuh"
#include "write_floats.cuh"

// A warpgroup has 64 keys and half of the queries of each block: their scores, weights and slopes
// with keys as rows, and its part of dK and dV. Of dQ, for which it needs the slopes of both, it
// has half of the columns.
namespace assay::flash {

// The sum of a packed operand's planes.
template <class Element, int planes, int steps>
__device__ __forceinline__ float2 unpack_planes(const std::uint32_t (&weights)[planes][steps][4],
                                                int step, int number) {
  float2 sum = unpack<Element>(weights[planes - 1][step][number]);
#pragma unroll
  for (int plane = planes - 2; plane >= 0; --plane) {
    const float2 more = unpack<Element>(weights[plane][step][number]);
    sum.x += more.x;
    sum.y += more.y;
  }
  return sum;
}

// scores become weights e^(scale · score − lse) of their query: scores and their rounded products
// with the scale are the forward's to the bit, so that one that outweighs all others has the
// weight 1.
template <int count>
__device__ __forceinline__ void weigh_by_natural_lse(float (&scores)[count], float scale,
                                                     std::uint32_t lse) {
  constexpr float log2_e = 1.44269504088896f;
#pragma unroll
  for (int i = 0; i < count / 4; ++i) {
    const float2 pair = load_shared_pair(lse + i * 32);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float& score = scores[4 * i + j];
      const float exponent = __fadd_rn(__fmul_rn(score, scale), -(j % 2 == 0 ? pair.x : pair.y));
      score = exp2_fast(smaller(exponent, 0) * log2_e);
    }
  }
}

// slopes = P ∘ (dP − D), where they come as dP; minus_dot: −D.
template <class Element, int planes, int steps>
__device__ __forceinline__ void slope_by_planes(float (&slopes)[8 * steps],
                                                const std::uint32_t (&weights)[planes][steps][4],
                                                std::uint32_t minus_dot) {
#pragma unroll
  for (int i = 0; i < 2 * steps; ++i) {
    const float2 pair = load_shared_pair(minus_dot + i * 32);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 weight = unpack_planes<Element>(weights, i / 2, i % 2 * 2 + half);
      float* const two = slopes + 4 * i + 2 * half;
      two[0] = weight.x * (two[0] + pair.x);
      two[1] = weight.y * (two[1] + pair.y);
    }
  }
}

// gradient [64 keys, head] += weights · tile, 64 columns after the other: the tensor cores cut off
// what they add, which over thousands of queries adds up, so that they add 32 and the rest is added
// here.
template <class T>
__device__ __forceinline__ void add_key_sums(
    float (&gradient)[T::head / 2],
    const std::uint32_t (&weights)[T::planes][T::group_queries / 16][4], std::uint32_t tile) {
#pragma unroll
  for (int block = 0; block < T::blocks; ++block) {
    float part[block_columns / 2];
    start_plane_key_sums<T>(part, weights, tile + block * T::rows * block_row_bytes);
    wait_for_products<0>();
    pin(part);
#pragma unroll
    for (int i = 0; i < block_columns / 2; ++i) gradient[block * block_columns / 2 + i] += part[i];
  }
}

// The second warpgroup hands its sums over to the first.
template <class T>
__device__ __forceinline__ void join_groups(float (&gradient)[T::head / 2], std::byte* through,
                                            int thread, bool gives) {
  auto* const fours = reinterpret_cast<float4*>(through) + thread;
#pragma unroll
  for (int i = 0; i < T::head / 8; ++i) {
    float* const mine = gradient + 4 * i;
    if (gives) {
      fours[i * warpgroup] = make_float4(mine[0], mine[1], mine[2], mine[3]);
    } else {
      const float4 more = fours[i * warpgroup];
      mine[0] += more.x;
      mine[1] += more.y;
      mine[2] += more.z;
      mine[3] += more.w;
    }
  }
}

template <class T>
__device__ void init_barriers(PlaneShared<T>& shared) {
  init_load_barriers<T>(shared);
  init_barrier(shared.slopes_full, T::consumer_warps);
  init_barrier(shared.slopes_empty, T::consumer_warps);
  publish_barriers();
}

template <class T>
__device__ void consume_one_tile(const BackwardArguments& arguments, PlaneShared<T>& shared,
                                 const KeyWork& work, const QueryBlocks& blocks,
                                 const Consumer& me) {
  using Element = typename T::Element;
  const Shape& shape = arguments.shape;
  const int first_query = me.group * T::group_queries;  // of a block
  const std::uint32_t keys = shared_address(shared.keys), values = shared_address(shared.values[0]);
  const std::uint32_t slope_planes = shared_address(shared.slopes);
  const std::uint32_t my_columns = keys + (T::blocks == 1 ? me.group * T::first_columns * 2
                                                          : me.group * T::keys * block_row_bytes);

  const BlockRange seen = seeing_blocks(shape, work.tile * T::keys, T::keys, T::rows);
  const int row = work.tile * T::keys + me.row;
  const QueryRange upper = seeing_queries(shape, row), lower = seeing_queries(shape, row + 8);

  float dk[T::head / 2], dv[T::head / 2];
#pragma unroll
  for (int i = 0; i < T::head / 2; ++i) dk[i] = dv[i] = 0;
  unsigned done = 0;

  wait(shared.keys_full[0], 0);
  blocks.for_each([&](int head, int block) {
    const unsigned count = __shfl_sync(~0u, done++, 0);
    const Turn<T::stages> turn(count);
    const int slope_parity = static_cast<int>(count % 2);
    const std::uint32_t my_rows = first_query * block_row_bytes;
    const std::uint32_t queries = shared_address(shared.queries[turn.stage]) + my_rows;
    const std::uint32_t douts = shared_address(shared.douts[turn.stage]) + my_rows;
    const int my_number = (first_query + me.column) * 4;

    float scores[T::group_queries / 2], slopes[T::group_queries / 2];
    wait(shared.queries_full[turn.stage], turn.parity);
    start_plane_scores<T>(scores, keys, queries);
    if (count == 0) wait(shared.values_full[0], 0);
    wait(shared.douts_full[turn.stage], turn.parity);
    start_plane_scores<T>(slopes, values, douts);
    wait_for_products<1>();
    pin(scores);
    hide_unseen(scores, seen, upper, lower, block, T::rows, first_query + me.column);
    const std::uint32_t lse = shared_address(shared.lse[turn.stage]) + my_number;
    weigh_by_natural_lse(scores, shape.natural_scale, lse);
    std::uint32_t weights[T::planes][T::group_queries / 16][4];
    as_operands<Element>(weights, scores);
    wait_for_products<0>();
    pin(slopes);
    add_key_sums<T>(dv, weights, douts);
    slope_by_planes<Element>(slopes, weights,
                             shared_address(shared.minus_dot[turn.stage]) + my_number);
    __syncwarp();
    if (me.lane == 0) arrive(shared.douts_empty[turn.stage]);

    std::uint32_t packed[T::planes][T::group_queries / 16][4];
    as_operands<Element>(packed, slopes);
    wait(shared.slopes_empty, slope_parity ^ 1);
#pragma unroll
    for (int plane = 0; plane < T::planes; ++plane) {
      write_transposed<T>(packed[plane], slope_planes + plane * T::slope_plane_bytes,
                          key_warp_of<T>(me) * 16, first_query, me);
    }
    announce_writes(shared.slopes_full, me);
    add_key_sums<T>(dk, packed, queries);
    if (me.lane == 0) arrive(shared.queries_empty[turn.stage]);

    wait(shared.slopes_full, slope_parity);
    float sums[T::first_columns / 2];
    start_plane_query_sums<T>(sums, slope_planes, my_columns);
    wait_for_products<0>();
    pin(sums);
    if (me.lane == 0) arrive(shared.slopes_empty);
    add_sums<T>(sums, arguments, head * arguments.query_blocks + block, work.tile, me);
  });

  let_next_begin();
  const int thread = me.warp % 4 * warp + me.lane;
  meet_consumers<T>();  // keys and values have been read by all
  if (me.group == 1) {
    join_groups<T>(dk, shared.keys[0], thread, true);
    join_groups<T>(dv, shared.values[0], thread, true);
  }
  meet_consumers<T>();
  if (me.group == 1) return;
  join_groups<T>(dk, shared.keys[0], thread, false);
  join_groups<T>(dv, shared.values[0], thread, false);
  if (!is_whole<T>(dk, dv, arguments, work, me)) return;
  const Place place = {me.column, row, work.head, work.batch};
  write_floats(dv, 1, arguments.dv_floats, place, shape.keys, shape.head);
  write_floats(dk, arguments.shape.natural_scale, arguments.dk_floats, place, shape.keys,
               shape.head);
}

}  // namespace assay::flash
