#include "attention/flash/planes/planes.h"
#include "tiles.cuh"

namespace assay::flash {

std::int64_t workspace_of_fp32(const Shape& shape) {
  return bytes_of_planes(shape, shape.heads, shape.queries) +
         2 * bytes_of_planes(shape, shape.kv_heads, shape.keys) +
         with_split_tile(shape, [&]<class T>(T) { return workspace_of<T>(shape); });
}

void forward_fp32(const Problem& problem, cudaStream_t stream) {
  const Shape& shape = problem.shape;
  auto* planes = static_cast<__nv_bfloat16*>(problem.workspace);
  Problem in_planes = problem;
  in_planes.q = split_in_planes(problem.q, shape, shape.heads, shape.queries, planes, stream);
  in_planes.k = split_in_planes(problem.k, shape, shape.kv_heads, shape.keys, planes, stream);
  in_planes.v = split_in_planes(problem.v, shape, shape.kv_heads, shape.keys, planes, stream);
  in_planes.workspace = planes;
  with_split_tile(shape, [&]<class T>(T) {
    launch_forward<T>(in_planes, stream, Grid::persistent, sharing_of<T>(shape));
  });
}

}  // namespace assay::flash
