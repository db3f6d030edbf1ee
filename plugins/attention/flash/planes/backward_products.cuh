#pragma once

#include "attention/flash/backward/products.cuh"
#include "attention/flash/score_products.cuh"
#include "attention/flash/value_products.cuh"
#include "backward_tile.cuh"
#include "pairs.cuh"

// The backward's products, each as six of planes. Operands are bytes of shared memory.
namespace assay::flash {

// scores [64 keys, 32 queries] = keys [64, head] · queriesᵀ [head, 32]: K Qᵀ and V dOᵀ. Of planes
// and steps in the order of the forward (forward/products.cuh), whose left operand are the queries.
template <class T>
__device__ __forceinline__ void start_plane_scores(float (&scores)[T::group_queries / 2],
                                                   std::uint32_t keys, std::uint32_t queries) {
  start_products<T::planes, T::head / 16>([&](int of_queries, int of_keys, int step, bool add) {
    const int within =
        step * 16 / block_columns * T::keys * block_row_bytes + step * 32 % block_row_bytes;
    add_scores<typename T::Element>(
        scores, advance(by_rows(keys), of_keys * T::plane_bytes + within),
        advance(by_rows(queries), of_queries * T::plane_bytes + within), add);
  });
}

// part [64 keys, 64 columns] = weights [64, 32 queries] · tile [32, 64], `tile` at the first of its
// columns: of Pᵀ dO and dSᵀ Q.
template <class T>
__device__ __forceinline__ void start_plane_key_sums(
    float (&part)[block_columns / 2],
    const std::uint32_t (&weights)[T::planes][T::group_queries / 16][4], std::uint32_t tile) {
  start_products<T::planes, T::group_queries / 16>([&](int left, int right, int step, bool add) {
    add_values<typename T::Element>(
        part, weights[left][step],
        advance(by_columns(tile, T::rows), right * T::plane_bytes + step * 16 * block_row_bytes),
        add);
  });
}

// sums [64 queries, head / 2 columns] = dS [64, 64 keys] · K [64 keys, head / 2], `keys` at the
// first of its columns; in memory lies dSᵀ [keys, queries].
template <class T>
__device__ __forceinline__ void start_plane_query_sums(float (&sums)[T::first_columns / 2],
                                                       std::uint32_t slopes, std::uint32_t keys) {
  start_products<T::planes, T::keys / 16>([&](int left, int right, int step, bool add) {
    const int bytes = step * 16 * block_row_bytes;
    add_query_sums<typename T::Element>(
        sums, advance(by_columns(slopes, T::keys), left * T::slope_plane_bytes + bytes),
        advance(by_columns(keys, T::keys), right * T::plane_bytes + bytes), add);
  });
}

}  // namespace assay::flash
