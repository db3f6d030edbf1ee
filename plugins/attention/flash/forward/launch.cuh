#pragma once

#include <algorithm>

#include "attention/flash/launch.cuh"
#include "forward.cuh"
#include "forward.h"

// From tensors to a launch of the forward.
namespace assay::flash {

// Heads that share keys and values which lie in the L2 cache together.
template <class T>
int heads_in_cache(const Shape& shape) {
  const std::int64_t row_bytes = std::int64_t{2} * loaded_columns<T>(shape);
  return kv_heads_in_cache(shape, 2 * row_bytes * shape.keys) * (shape.heads / shape.kv_heads);
}

// Blocks of keys of a tile.
template <class T>
int blocks_of(const Shape& shape, int row_tile) {
  return seen_blocks(shape, first_row_of<T>(shape, row_tile), T::rows, T::keys).count();
}

// How the keys of a tile are shared: in parts of so many blocks of keys (0: not), or evenly among
// the blocks of threads of a cluster.
struct Sharing {
  int blocks = 0;
  int together = 1;
};

template <class T>
Parts parts_of(const Shape& shape, Sharing wanted) {
  Parts parts;
  const int longest = blocks_of<T>(shape, row_tiles<T>(shape) - 1);
  // With a window all tiles are short; and the first row tile with a part is found from the mask's
  // edge.
  if (shape.window > 0) return parts;
  if (wanted.together > 1) {
    parts.together = parts.count = wanted.together;
    parts.blocks = std::max(1, (longest + wanted.together - 1) / wanted.together);
    return parts;
  }
  if (wanted.blocks == 0 || wanted.blocks >= longest) return parts;
  parts.blocks = std::max(wanted.blocks, (longest + Parts::most - 1) / Parts::most);
  parts.count = (longest + parts.blocks - 1) / parts.blocks;
  for (int part = 1, row_tile = 0; part < parts.count; ++part) {
    while (blocks_of<T>(shape, row_tile) <= part * parts.blocks) ++row_tile;
    parts.first_row_tile[part] = row_tile;
  }
  return parts;
}

// Where tiles leave most multiprocessors idle, a cluster has each. Elsewhere parts of so many
// blocks that no block of threads works much longer than the others, where whole tiles would let
// one: they are taken longest first, so only one that is longer than an even share stands out.
template <class T>
Sharing balanced_sharing(const Shape& shape, int processors) {
  if (shape.window > 0) return {};
  const int tiles = row_tiles<T>(shape);
  std::int64_t blocks = 0;
  int longest = 0;
  for (int row_tile = 0; row_tile < tiles; ++row_tile) {
    longest = blocks_of<T>(shape, row_tile);
    blocks += longest;
  }
  const auto heads = std::int64_t{shape.batch} * shape.heads;
  // Eight are slower than four; and three blocks of keys take no longer than meeting does.
  constexpr int most_together = 4, worth_meeting = 4;
  int together = 1;
  while (T::may_share_in_cluster && longest >= worth_meeting && together < most_together &&
         2 * together * tiles * heads <= processors) {
    together *= 2;
  }
  if (together > 1) return {.together = together};
  blocks *= heads;
  const auto share = static_cast<int>((blocks + processors - 1) / processors);
  // Beginning, ending and adding up a part takes about as long as three blocks.
  constexpr int worth_sharing = 8, least = 3;
  if (longest <= std::max(share, worth_sharing)) return {};
  return {.blocks = std::max(least, (share + 1) / 2)};
}

// How the workspace is laid out: counters, then parts.
template <class T>
struct Workspace {
  std::int64_t counters, bytes;

  Workspace(const Shape& shape, const Parts& parts) {
    const auto tiles = std::int64_t{row_tiles<T>(shape)} * shape.heads * shape.batch;
    constexpr std::int64_t part_bytes =
        std::int64_t{T::consumer_warps} * (T::head / 8 + 1) * warp * 16;
    counters = parts.count > 1 ? 4 + tiles * T::consumer_warps : 4;
    bytes = 4 * counters + (parts.count > 1 ? parts.count * tiles * part_bytes : 0);
  }
};

enum class Grid { persistent, fixed_order, one_item_each };

template <class T>
void launch_forward(const Problem& problem, cudaStream_t stream, Grid grid = Grid::persistent,
                    Sharing sharing = {}) {
  const Shape& shape = problem.shape;
  const auto map = [&](const Operand& operand, int heads, int rows, int box_rows) {
    return tensor_map_for<T>(operand, problem.format, shape, heads, rows, box_rows);
  };
  Arguments arguments;
  arguments.q = map(problem.q, shape.heads, shape.queries, T::rows);
  arguments.k = map(problem.k, shape.kv_heads, shape.keys, T::keys);
  arguments.v = map(problem.v, shape.kv_heads, shape.keys, T::keys);
  if constexpr (T::writes_floats) {
    arguments.out = {};
    arguments.floats = problem.out;
  } else {
    arguments.out = map(problem.out, shape.heads, shape.queries, 16);
    arguments.floats = {};
  }
  arguments.lse = problem.lse;
  arguments.shape = shape;
  arguments.scale = scale_of(shape.scale);
  arguments.row_tiles = row_tiles<T>(shape);
  arguments.heads_at_once = heads_in_cache<T>(shape);
  arguments.parts = parts_of<T>(shape, sharing);
  const int heads = shape.heads * shape.batch, tiles = arguments.row_tiles * heads;
  arguments.items = tiles;
  for (int part = 1; part < arguments.parts.count; ++part) {
    arguments.items += (arguments.row_tiles - arguments.parts.first_row_tile[part]) * heads;
  }
  const Workspace<T> workspace(shape, arguments.parts);
  auto* const counters = static_cast<unsigned*>(problem.workspace);
  arguments.parts.finished = counters + 4;
  arguments.parts.partial = reinterpret_cast<float*>(counters + workspace.counters);

  const int processors = processors_of_device();
  const bool all_at_once =
      grid == Grid::one_item_each || arguments.items <= processors || arguments.parts.together > 1;
  arguments.taken = all_at_once || grid == Grid::fixed_order ? nullptr : counters;
  const bool counts_parts = arguments.parts.count > 1 && arguments.parts.together == 1;
  if (arguments.taken != nullptr || counts_parts) {
    require(cudaMemsetAsync(counters, 0, 4 * workspace.counters, stream), "cudaMemsetAsync");
  }
  static_assert(shared_bytes<T> <= 232448, "a block has 227 KB of shared memory");
  require(cudaFuncSetAttribute(forward<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               shared_bytes<T>),
          "the device refuses the kernel's shared memory");
  const int blocks = all_at_once ? arguments.items : processors;
  launch_in_clusters(forward<T>, blocks, arguments.parts.together, T::threads, shared_bytes<T>,
                     stream, arguments);
}

}  // namespace assay::flash
