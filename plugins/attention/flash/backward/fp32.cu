#include "attention/flash/planes/backward_consumer.cuh"
#include "tiles.cuh"

namespace assay::flash {
namespace {

// Calls `use` with the tile that serves a problem.
auto with_plane_tile(const Shape& shape, const auto& use) {
  return shape.head <= 64 ? use(PlaneTile<64>()) : use(PlaneTile<128>());
}

}  // namespace

std::int64_t backward_workspace_of_fp32(const Shape& shape, bool in_turns) {
  return 2 * bytes_of_planes(shape, shape.heads, shape.queries) +
         2 * bytes_of_planes(shape, shape.kv_heads, shape.keys) +
         with_plane_tile(shape,
                         [&]<class T>(T) { return BackwardWorkspace<T>(shape, in_turns).bytes(); });
}

void backward_fp32(const BackwardProblem& problem, cudaStream_t stream) {
  const Shape& shape = problem.shape;
  auto* planes = static_cast<__nv_bfloat16*>(problem.workspace);
  const auto split = [&](const Operand& tensor, int heads, int rows) {
    return split_in_planes(tensor, shape, heads, rows, planes, stream);
  };
  Loaded loaded;
  loaded.q = split(problem.q, shape.heads, shape.queries);
  loaded.k = split(problem.k, shape.kv_heads, shape.keys);
  loaded.v = split(problem.v, shape.kv_heads, shape.keys);
  loaded.dout = split(problem.dout, shape.heads, shape.queries);
  BackwardProblem behind = problem;
  behind.workspace = planes;
  with_plane_tile(shape,
                  [&]<class T>(T) { launch_one_tile<T, PlaneShared<T>>(behind, loaded, stream); });
}

}  // namespace assay::flash
