#pragma once

#include "fill.cuh"
#include "mask.cuh"
#include "products.cuh"
#include "softmax.cuh"

namespace assay::flash_portable {

// dv = Pᵀ dout and dk = scale · dSᵀ q for a tile of keys of one head of k and v, summed over the
// queries of all heads that read it, in their order. Keys are the rows, so that Pᵀ and dSᵀ are left
// operands in the registers they were computed in.
template <class Tile>
__global__ void key_gradient_kernel(const BackwardProblem problem) {
  using Element = typename Tile::Element;
  const Shape& shape = problem.shape;
  const int tiles = tiles_of(shape.keys, Tile::rows);
  const Place place(blockIdx.x / Tile::parts, tiles, shape.kv_heads);
  const int part_column = static_cast<int>(blockIdx.x) % Tile::parts * Tile::summed;
  const int group = shape.heads / shape.kv_heads;
  const int first_key = place.tile * Tile::rows;
  const Band band(shape);
  const Range query_tiles = band.queries_of(first_key, Tile::rows).tiles(Tile::columns);
  const int a_head = query_tiles.end - query_tiles.first;

  const std::uint32_t shared = shared_memory();
  const auto reside = [&](std::uint32_t to, const Operand& tensor) {
    const Rows<Element> rows(tensor, place.batch, place.head, first_key, shape.keys);
    copy_rows<Tile, Tile::rows>(to, rows, shape.head);
  };
  reside(shared, problem.k);
  reside(shared + Tile::resident_bytes, problem.v);

  const LaneOffsets offsets(Tile::row_bytes);
  const LanePlace lane;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * 16 * Tile::row_blocks;
  const int warp_key = first_key + warp_row;
  const Range warp_queries =
      warp_key < shape.keys ? band.queries_of(warp_key, 16 * Tile::row_blocks) : Range{0, 0};
  const std::uint32_t keys = shared + warp_row * Tile::row_bytes;
  constexpr int lse_at = 2 * Tile::streamed_bytes, dots_at = lse_at + Tile::facts_bytes;

  // Tile number `tile` of the group's heads one after the other.
  const auto first_query_of = [&](int tile) {
    return (query_tiles.first + tile % a_head) * Tile::columns;
  };
  Sums<Tile> dk = {}, dv = {};
  const auto fill = [&](int tile, std::uint32_t to) {
    const int head = place.head * group + tile / a_head, first = first_query_of(tile);
    const Rows<Element> q(problem.q, place.batch, head, first, shape.queries);
    const Rows<Element> dout(problem.dout, place.batch, head, first, shape.queries);
    fill_columns<Tile>(to, q, shape.head);
    fill_columns<Tile>(to + Tile::streamed_bytes, dout, shape.head);
    const auto at = (std::int64_t(place.batch) * shape.heads + head) * shape.queries + first;
    fill_facts<Tile>(to + lse_at, problem.lse + at, shape.queries - first);
    fill_facts<Tile>(to + dots_at, problem.dots + at, shape.queries - first);
  };
  const auto use = [&](int tile, std::uint32_t from) {
#pragma unroll 1
    for (int at = 0; at < Tile::columns; at += Tile::slice) {
      const int first = first_query_of(tile) + at;
      const Range seen = warp_queries.part(first, Tile::slice);
      if (seen.empty()) continue;
      const std::uint32_t columns = from + at * Tile::row_bytes;
      const std::uint32_t summed =
          columns + part_column * static_cast<std::uint32_t>(sizeof(Element));
      const std::uint32_t facts = from + (at + lane.column) * sizeof(float);
      Scores<Tile> weights, slopes;
      Products<Tile>::template score<true>(weights, keys, columns, offsets);
#pragma unroll
      for (int n = 0; n < Tile::slice / 8; ++n) {
        const float2 lse = load_shared_2(facts + lse_at + n * 8 * sizeof(float));
#pragma unroll
        for (int m = 0; m < Tile::row_blocks; ++m)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            weights[m][n][i] = weight(weights[m][n][i], shape.scale, i % 2 == 0 ? lse.x : lse.y);
      }
      if (!band.all(first, Tile::slice, warp_key, 16 * Tile::row_blocks)) {
        for_each_score<Tile>(weights, lane, [&](float& p, int row, int column) {
          if (!band.sees(first + column, warp_key + row)) p = 0;
        });
      }
      Products<Tile>::weigh(dv, weights, summed + Tile::streamed_bytes, seen, offsets);
      Products<Tile>::template score<true>(slopes, keys + Tile::resident_bytes,
                                           columns + Tile::streamed_bytes, offsets);
#pragma unroll
      for (int n = 0; n < Tile::slice / 8; ++n) {
        const float2 dots = load_shared_2(facts + dots_at + n * 8 * sizeof(float));
#pragma unroll
        for (int m = 0; m < Tile::row_blocks; ++m)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            slopes[m][n][i] = weights[m][n][i] * (slopes[m][n][i] - (i % 2 == 0 ? dots.x : dots.y));
      }
      Products<Tile>::weigh(dk, slopes, summed, seen, offsets);
    }
  };
  go_through<Tile>(shared + Tile::streams_at, {0, query_tiles.empty() ? 0 : group * a_head}, fill,
                   use);

  const auto row_of = [&](const Operand& tensor, int key) {
    return static_cast<Element*>(tensor.data) + place.batch * tensor.batch_stride +
           place.head * tensor.head_stride + key * tensor.row_stride + part_column;
  };
#pragma unroll
  for (int m = 0; m < Tile::row_blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int key = warp_key + 16 * m + 8 * half + lane.row;
      if (key >= shape.keys) continue;
      const int head = shape.head - part_column;
      Products<Tile>::store(row_of(problem.dk, key), head, dk[m], half, shape.scale);
      Products<Tile>::store(row_of(problem.dv, key), head, dv[m], half, 1);
    }
}

}  // namespace assay::flash_portable
