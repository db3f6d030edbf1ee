#pragma once

#include "fill.cuh"
#include "mask.cuh"
#include "products.cuh"
#include "softmax.cuh"

namespace assay::flash_portable {

// dq = scale · dS k for a tile of queries of one head, where P are the weights, made again from the
// log-sum-exp, and dS = P ∘ (dout vᵀ − dout · out): Dao 2023, algorithm 2.
template <class Tile>
__global__ void query_gradient_kernel(const BackwardProblem problem) {
  using Element = typename Tile::Element;
  const Shape& shape = problem.shape;
  const int tiles = tiles_of(shape.queries, Tile::rows);
  const Place place(blockIdx.x, tiles, shape.heads);
  const int kv_head = place.head / (shape.heads / shape.kv_heads);
  const int first_query = (tiles - 1 - place.tile) * Tile::rows;  // most keys first
  const Band band(shape);
  const Range keys = band.keys_of(first_query, Tile::rows);

  const std::uint32_t shared = shared_memory();
  const auto reside = [&](std::uint32_t to, const Operand& tensor) {
    const Rows<Element> rows(tensor, place.batch, place.head, first_query, shape.queries);
    copy_rows<Tile, Tile::rows>(to, rows, shape.head);
  };
  reside(shared, problem.q);
  reside(shared + Tile::resident_bytes, problem.dout);

  const LaneOffsets offsets(Tile::row_bytes);
  const LanePlace lane;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * 16 * Tile::row_blocks;
  const int warp_query = first_query + warp_row;
  const Range warp_keys =
      warp_query < shape.queries ? band.keys_of(warp_query, 16 * Tile::row_blocks) : Range{0, 0};
  const std::uint32_t queries = shared + warp_row * Tile::row_bytes;

  RowFacts<Tile> lse, dots;
#pragma unroll
  for (int m = 0; m < Tile::row_blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = warp_query + 16 * m + 8 * half + lane.row;
      const bool there = query < shape.queries;
      const auto at =
          (std::int64_t(place.batch) * shape.heads + place.head) * shape.queries + query;
      lse.of[m][half] = there ? load_global_1(problem.lse + at) : 0;
      dots.of[m][half] = there ? load_global_1(problem.dots + at) : 0;
    }

  Sums<Tile> sums = {};
  const auto fill = [&](int tile, std::uint32_t to) {
    const int first = tile * Tile::columns;
    const Rows<Element> k(problem.k, place.batch, kv_head, first, shape.keys);
    const Rows<Element> v(problem.v, place.batch, kv_head, first, shape.keys);
    fill_columns<Tile>(to, k, shape.head);
    fill_columns<Tile>(to + Tile::streamed_bytes, v, shape.head);
  };
  const auto use = [&](int tile, std::uint32_t from) {
#pragma unroll 1
    for (int at = 0; at < Tile::columns; at += Tile::slice) {
      const int first = tile * Tile::columns + at;
      const Range seen = warp_keys.part(first, Tile::slice);
      if (seen.empty()) continue;
      const std::uint32_t columns = from + at * Tile::row_bytes;
      const bool masked = !band.all(warp_query, 16 * Tile::row_blocks, first, Tile::slice);
      Scores<Tile> weights, slopes;
      Products<Tile>::template score<false>(weights, queries, columns, offsets);
      Products<Tile>::template score<false>(slopes, queries + Tile::resident_bytes,
                                            columns + Tile::streamed_bytes, offsets);
#pragma unroll
      for (int m = 0; m < Tile::row_blocks; ++m)
#pragma unroll
        for (int n = 0; n < Tile::slice / 8; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float p = weight(weights[m][n][i], shape.scale, lse.of[m][i / 2]);
            slopes[m][n][i] = p * (slopes[m][n][i] - dots.of[m][i / 2]);
          }
      if (masked) {
        for_each_score<Tile>(slopes, lane, [&](float& slope, int row, int column) {
          if (!band.sees(warp_query + row, first + column)) slope = 0;
        });
      }
      Products<Tile>::weigh(sums, slopes, columns, seen, offsets);
    }
  };
  go_through<Tile>(shared + Tile::streams_at, keys.tiles(Tile::columns), fill, use);

#pragma unroll
  for (int m = 0; m < Tile::row_blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = warp_query + 16 * m + 8 * half + lane.row;
      if (query >= shape.queries) continue;
      Element* dq = static_cast<Element*>(problem.dq.data) + place.batch * problem.dq.batch_stride +
                    place.head * problem.dq.head_stride + query * problem.dq.row_stride;
      Products<Tile>::store(dq, shape.head, sums[m], half, shape.scale);
    }
}

}  // namespace assay::flash_portable
