#pragma once

#include "fill.cuh"
#include "mask.cuh"
#include "products.cuh"
#include "softmax.cuh"

namespace assay::flash_portable {

// out = softmax(scale · q kᵀ + mask) v and its log-sum-exp for a tile of queries of one head.
template <class Tile>
__global__ void forward_kernel(const ForwardProblem problem) {
  using Element = typename Tile::Element;
  const Shape& shape = problem.shape;
  const int tiles = tiles_of(shape.queries, Tile::rows);
  const Place place(blockIdx.x, tiles, shape.heads);
  const int kv_head = place.head / (shape.heads / shape.kv_heads);
  // The last queries see the most keys where causal: they begin first.
  const int first_query = (tiles - 1 - place.tile) * Tile::rows;
  const Band band(shape);
  const Range keys = band.keys_of(first_query, Tile::rows);

  const std::uint32_t shared = shared_memory();
  copy_rows<Tile, Tile::rows>(
      shared, Rows<Element>(problem.q, place.batch, place.head, first_query, shape.queries),
      shape.head);

  const LaneOffsets offsets(Tile::row_bytes);
  const LanePlace lane;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * 16 * Tile::row_blocks;
  const int warp_query = first_query + warp_row;
  const Range warp_keys =
      warp_query < shape.queries ? band.keys_of(warp_query, 16 * Tile::row_blocks) : Range{0, 0};
  const std::uint32_t queries = shared + warp_row * Tile::row_bytes;

  Sums<Tile> sums = {};
  OnlineSoftmax<Tile> softmax;
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
      Scores<Tile> scores;
      Products<Tile>::template score<false>(scores, queries, columns, offsets);
      if (!band.all(warp_query, 16 * Tile::row_blocks, first, Tile::slice)) {
        for_each_score<Tile>(scores, lane, [&](float& score, int row, int column) {
          if (!band.sees(warp_query + row, first + column)) score = -INFINITY;
        });
      }
      softmax.add(scores, sums, shape.scale * log2_of_e);
      Products<Tile>::weigh(sums, scores, columns + Tile::streamed_bytes, seen, offsets);
    }
  };
  go_through<Tile>(shared + Tile::streams_at, keys.tiles(Tile::columns), fill, use);

#pragma unroll
  for (int m = 0; m < Tile::row_blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float total = softmax.whole_total(m, half);
      const int query = warp_query + 16 * m + 8 * half + lane.row;
      if (query >= shape.queries) continue;
      Element* out = static_cast<Element*>(problem.out.data) +
                     place.batch * problem.out.batch_stride + place.head * problem.out.head_stride +
                     query * problem.out.row_stride;
      // A query that sees no key gives 0.
      Products<Tile>::store(out, shape.head, sums[m], half, total == 0 ? 0 : 1 / total);
      if (lane.column == 0) {
        const float lse =
            total == 0 ? -INFINITY
                       : rounded_product(softmax.largest[m][half], shape.scale) + logf(total);
        store_global(problem.lse +
                         (std::int64_t(place.batch) * shape.heads + place.head) * shape.queries +
                         query,
                     lse);
      }
    }
}

}  // namespace assay::flash_portable
