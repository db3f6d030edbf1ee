#pragma once

#include "backward.cuh"
#include "backward.h"
#include "backward_rows.h"
#include "launch.cuh"

// From tensors to the backward's launches.
namespace assay::flash {

// How the workspace is laid out: floats of lse and D, then the sums of dQ, then turns.
template <class T>
struct BackwardWorkspace {
  int query_blocks;
  std::int64_t rows, sums, turns;

  explicit BackwardWorkspace(const Shape& shape)
      : query_blocks((shape.queries + T::rows - 1) / T::rows) {
    const std::int64_t blocks = std::int64_t{query_blocks} * shape.heads * shape.batch;
    rows = blocks * T::rows;
    sums = rows * T::head;
    turns = blocks * T::consumer_warps;
  }
  std::int64_t bytes() const { return 4 * (2 * rows + sums + turns); }
};

// Heads of k whose queries, dO and dQ lie in 32 MB of L2 (of 50) together.
inline int key_heads_in_cache(const Shape& shape) {
  constexpr std::int64_t budget = 32 << 20;
  const std::int64_t bytes =
      std::int64_t{8} * shape.queries * shape.head * (shape.heads / shape.kv_heads);
  const std::int64_t heads = std::max<std::int64_t>(1, budget / bytes);
  return static_cast<int>(
      std::min<std::int64_t>(heads, std::int64_t{shape.batch} * shape.kv_heads));
}

template <class T>
void launch_backward(const BackwardProblem& problem, cudaStream_t stream) {
  const Shape& shape = problem.shape;
  const BackwardWorkspace<T> workspace(shape);
  auto* const lse = static_cast<float*>(problem.workspace);
  float* const dot = lse + workspace.rows;
  float* const sums = dot + workspace.rows;
  auto* const turns = reinterpret_cast<unsigned*>(sums + workspace.sums);

  RowArguments rows;
  rows.out = problem.out;
  rows.dout = problem.dout;
  rows.dq = problem.dq;
  rows.forward_lse = problem.lse;
  rows.lse = lse;
  rows.dot = dot;
  rows.query_sums = sums;
  rows.shape = shape;
  rows.rows = workspace.query_blocks * T::rows;
  rows.summed_head = T::head;
  rows.natural_scale = problem.natural_scale;
  prepare_rows(rows, problem.bf16, stream);

  const auto map = [&](const Operand& operand, int heads, int length, int box_rows) {
    return tensor_map(operand, problem.bf16, shape.batch, heads, length, shape.head, box_rows);
  };
  BackwardArguments arguments;
  arguments.q = map(problem.q, shape.heads, shape.queries, T::rows);
  arguments.dout = map(problem.dout, shape.heads, shape.queries, T::rows);
  arguments.k = map(problem.k, shape.kv_heads, shape.keys, T::keys);
  arguments.v = map(problem.v, shape.kv_heads, shape.keys, T::keys);
  arguments.dk = map(problem.dk, shape.kv_heads, shape.keys, 16);
  arguments.dv = map(problem.dv, shape.kv_heads, shape.keys, 16);
  arguments.lse = lse;
  arguments.dot = dot;
  arguments.query_sums = sums;
  arguments.turns = problem.in_turns ? turns : nullptr;
  arguments.shape = shape;
  arguments.key_tiles = (shape.keys + T::keys - 1) / T::keys;
  arguments.query_blocks = workspace.query_blocks;
  arguments.heads_at_once = key_heads_in_cache(shape);
  arguments.natural_scale = problem.natural_scale;
  if (problem.in_turns) {
    require(cudaMemsetAsync(turns, 0, 4 * workspace.turns, stream), "cudaMemsetAsync");
  }
  static_assert(backward_shared_bytes<T> <= 232448, "a block has 227 KB of shared memory");
  require(cudaFuncSetAttribute(backward<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               backward_shared_bytes<T>),
          "the device refuses the kernel's shared memory");
  const int blocks = arguments.key_tiles * shape.kv_heads * shape.batch;
  backward<T><<<blocks, T::threads, backward_shared_bytes<T>, stream>>>(arguments);
  require(cudaGetLastError(), "the kernel did not start");
  finish_queries(rows, problem.bf16, stream);
}

}  // namespace assay::flash
