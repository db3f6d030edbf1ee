#pragma once

#include "attention/flash/launch.cuh"
#include "backward.h"
#include "rows.h"

// From tensors to the backward's launches.
namespace assay::flash {

// By which no block of threads works much longer than the others. Tiles are started longest first,
// so only those stand out that are longer than an even share.
template <class T>
KeyParts key_parts_of(const Shape& shape, int processors) {
  KeyParts parts;
  if (shape.window > 0) return parts;  // all tiles are short
  const int tiles = (shape.keys + T::keys - 1) / T::keys;
  const auto blocks = [&](int tile) {
    return QueryBlocks(shape, tile, T::keys, T::rows, 0, parts.blocks).total;
  };
  std::int64_t all = 0;
  for (int tile = 0; tile < tiles; ++tile) all += blocks(tile);
  all *= std::int64_t{shape.batch} * shape.kv_heads;
  const auto share = static_cast<int>((all + processors - 1) / processors);
  const int longest = blocks(0);
  // Where multiprocessors would idle a part has 128 queries: smaller ones take longer to add up
  // than they save.
  const int even = share == 1 ? 128 / T::rows : share + 1 + share / 32;
  const int wanted = std::max(even, (longest + KeyParts::most - 1) / KeyParts::most);
  constexpr int worth_sharing = 3;
  if (longest < worth_sharing || longest <= wanted) return parts;
  for (int tile = 0; tile < tiles; ++tile) {
    const int count = (blocks(tile) + wanted - 1) / wanted;
    for (int part = 0; part < count; ++part) ++parts.tiles_with[part];
  }
  parts.blocks = wanted;
  parts.count = (longest + wanted - 1) / wanted;
  return parts;
}

// How the workspace is laid out: floats of lse and D, the sums of dQ, parts of dK and dV, then
// counters.
template <class T>
struct BackwardWorkspace {
  int query_blocks, key_tiles;
  KeyParts parts;
  std::int64_t rows, sums, partial, turns;

  BackwardWorkspace(const Shape& shape, bool in_turns)
      : query_blocks((shape.queries + T::rows - 1) / T::rows),
        key_tiles((shape.keys + T::keys - 1) / T::keys) {
    const std::int64_t blocks = std::int64_t{query_blocks} * shape.heads * shape.batch;
    const std::int64_t tiles = std::int64_t{key_tiles} * shape.kv_heads * shape.batch;
    // A part in turns would wait for parts that start later.
    if (!in_turns) parts = key_parts_of<T>(shape, processors_of_device());
    rows = blocks * T::rows;
    sums = rows * T::head;
    partial = parts.count > 1 ? tiles * parts.count * T::keys * T::head * 2 : 0;
    turns = in_turns ? blocks * T::consumer_warps : 0;
  }
  int items(const Shape& shape) const {
    int tiles = key_tiles;
    for (int part = 1; part < parts.count; ++part) tiles += parts.tiles_with[part];
    return tiles * shape.kv_heads * shape.batch;
  }
  // The last is that of items taken.
  std::int64_t counters() const { return turns + 1; }
  std::int64_t bytes() const { return 4 * (2 * rows + sums + partial + counters()); }
};

// Heads of k whose queries, dO and dQ lie in the L2 cache together.
template <class T>
int key_heads_in_cache(const Shape& shape) {
  const std::int64_t row_bytes = std::int64_t{2} * loaded_columns<T>(shape);
  return kv_heads_in_cache(
      shape, (2 * row_bytes + 4 * shape.head) * shape.queries * (shape.heads / shape.kv_heads));
}

// The tensors as the copy engine loads them.
struct Loaded {
  Operand q, k, v, dout;
};

inline Loaded loaded_as_they_are(const BackwardProblem& problem) {
  return {problem.q, problem.k, problem.v, problem.dout};
}

template <class T, auto* kernel, int shared_bytes>
void launch_kernels(const BackwardProblem& problem, const Loaded& loaded, cudaStream_t stream) {
  const Shape& shape = problem.shape;
  const BackwardWorkspace<T> workspace(shape, problem.in_turns);
  auto* const lse = static_cast<float*>(problem.workspace);
  float* const minus_dot = lse + workspace.rows;
  float* const sums = minus_dot + workspace.rows;
  float* const partial = sums + workspace.sums;
  auto* const turns = reinterpret_cast<unsigned*>(partial + workspace.partial);

  RowArguments rows;
  rows.out = problem.out;
  rows.dout = problem.dout;
  rows.dq = problem.dq;
  rows.forward_lse = problem.lse;
  rows.lse = lse;
  rows.minus_dot = minus_dot;
  rows.query_sums = sums;
  rows.counters = turns;
  rows.counted = workspace.counters();
  rows.shape = shape;
  rows.rows = workspace.query_blocks * T::rows;
  rows.summed_head = T::head;
  rows.parts = workspace.parts;
  rows.parts.partial = partial;
  rows.dk = problem.dk;
  rows.dv = problem.dv;
  rows.key_tiles = workspace.key_tiles;
  rows.key_warps = T::key_warps;
  prepare_rows(rows, problem.format, stream);

  const auto map = [&](const Operand& operand, int heads, int length, int box_rows) {
    return tensor_map_for<T>(operand, problem.format, shape, heads, length, box_rows);
  };
  BackwardArguments arguments = {};
  arguments.q = map(loaded.q, shape.heads, shape.queries, T::rows);
  arguments.dout = map(loaded.dout, shape.heads, shape.queries, T::rows);
  arguments.k = map(loaded.k, shape.kv_heads, shape.keys, T::keys);
  arguments.v = map(loaded.v, shape.kv_heads, shape.keys, T::keys);
  if constexpr (T::planes == 1) {
    arguments.dk = map(problem.dk, shape.kv_heads, shape.keys, 16);
    arguments.dv = map(problem.dv, shape.kv_heads, shape.keys, 16);
  } else {
    arguments.dk_floats = problem.dk;
    arguments.dv_floats = problem.dv;
  }
  arguments.lse = lse;
  arguments.minus_dot = minus_dot;
  arguments.query_sums = sums;
  arguments.turns = problem.in_turns ? turns : nullptr;
  arguments.items = workspace.items(shape);
  const bool takes = T::persistent && !problem.in_turns;
  arguments.taken = takes ? turns + workspace.counters() - 1 : nullptr;
  arguments.shape = shape;
  arguments.key_tiles = workspace.key_tiles;
  arguments.query_blocks = workspace.query_blocks;
  // In turns a tile waits for that with the keys after its own: the more heads are mixed, the fewer
  // tiles of a head are in a chain.
  arguments.heads_at_once =
      problem.in_turns ? shape.batch * shape.kv_heads : key_heads_in_cache<T>(shape);
  arguments.parts = rows.parts;
  static_assert(shared_bytes <= 232448, "a block has 227 KB of shared memory");
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
          "the device refuses the kernel's shared memory");
  const int blocks = arguments.taken != nullptr ? std::min(arguments.items, processors_of_device())
                                                : arguments.items;
  launch_behind(kernel, blocks, T::threads, shared_bytes, stream, arguments);
  finish_rows(rows, problem.format, stream);
}

}  // namespace assay::flash
