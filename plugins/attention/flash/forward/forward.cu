#include "tiles.cuh"

namespace assay::flash {

std::int64_t workspace_bytes(const Shape& shape, Format format) {
  if (format == Format::fp32) return workspace_of_fp32(shape);
  // The tiles are the same for both types.
  return with_tile<__half>(shape, [&]<class T>(T) { return workspace_of<T>(shape); });
}

void forward(const Problem& problem, cudaStream_t stream) {
  switch (problem.format) {
    case Format::bf16:
      return forward_bf16(problem, stream);
    case Format::fp16:
      return forward_fp16(problem, stream);
    case Format::fp32:
      return forward_fp32(problem, stream);
  }
}

}  // namespace assay::flash
