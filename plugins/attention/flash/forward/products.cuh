#pragma once

#include <cstdint>

#include "attention/flash/instructions.cuh"
#include "attention/flash/operand.cuh"
#include "attention/flash/planes/pairs.cuh"
#include "attention/flash/score_products.cuh"
#include "attention/flash/threads.cuh"
#include "attention/flash/tile.cuh"
#include "attention/flash/value_products.cuh"

// The two products of a block of keys, in steps of wgmma.
namespace assay::flash {

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

}  // namespace assay::flash
