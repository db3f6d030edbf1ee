#include "forward_tiles.cuh"
#include "planes.cuh"

namespace assay::flash {
namespace {

int padded(const Shape& shape) { return blocks_of_head(shape.head) * block_columns; }

std::int64_t elements_of_planes(const Shape& shape, int heads, int rows) {
  return std::int64_t{shape.batch} * heads * rows * planes_of_fp32 * padded(shape);
}

// Splits a tensor into `planes`, and moves these on to behind it.
Operand split(const Operand& from, const Shape& shape, int heads, int rows, __nv_bfloat16*& planes,
              cudaStream_t stream) {
  const std::int64_t elements = elements_of_planes(shape, heads, rows);
  const std::int64_t fours = elements / planes_of_fp32 / 4;
  const auto blocks = static_cast<unsigned>((fours + split_threads - 1) / split_threads);
  split_in_planes<<<blocks, split_threads, 0, stream>>>(from, planes, heads, rows, shape.head,
                                                        padded(shape), fours);
  const std::int64_t row = planes_of_fp32 * padded(shape);
  const Operand made = {planes, heads * rows * row, rows * row, row};
  planes += elements;
  return made;
}

std::int64_t bytes_of_planes(const Shape& shape) {
  return std::int64_t{2} * (elements_of_planes(shape, shape.heads, shape.queries) +
                            2 * elements_of_planes(shape, shape.kv_heads, shape.keys));
}

}  // namespace

std::int64_t workspace_of_fp32(const Shape& shape) {
  return bytes_of_planes(shape) +
         with_split_tile(shape, [&]<class T>(T) { return workspace_of<T>(shape); });
}

void forward_fp32(const Problem& problem, cudaStream_t stream) {
  const Shape& shape = problem.shape;
  auto* planes = static_cast<__nv_bfloat16*>(problem.workspace);
  Problem in_planes = problem;
  in_planes.q = split(problem.q, shape, shape.heads, shape.queries, planes, stream);
  in_planes.k = split(problem.k, shape, shape.kv_heads, shape.keys, planes, stream);
  in_planes.v = split(problem.v, shape, shape.kv_heads, shape.keys, planes, stream);
  in_planes.workspace = planes;
  with_split_tile(shape, [&]<class T>(T) {
    launch_forward<T>(in_planes, stream, Grid::persistent, part_of<T>(shape));
  });
}

}  // namespace assay::flash
