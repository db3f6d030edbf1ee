#include "forward_tiles.cuh"

namespace assay::flash {

std::int64_t workspace_bytes(const Shape& shape) {
  // The tiles are the same for both types.
  return with_tile<__half>(shape, [&]<class T>(T) {
    return Workspace<T>(shape, parts_of<T>(shape, part_of<T>(shape))).bytes;
  });
}

void forward(const Problem& problem, cudaStream_t stream) {
  problem.bf16 ? forward_bf16(problem, stream) : forward_fp16(problem, stream);
}

}  // namespace assay::flash
