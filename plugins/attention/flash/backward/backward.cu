#include "tiles.cuh"

namespace assay::flash {

std::int64_t backward_workspace_bytes(const Shape& shape, Format format, bool in_turns) {
  if (format == Format::fp32) return backward_workspace_of_fp32(shape, in_turns);
  // The tiles are the same for both types.
  return with_backward_tile<__half>(
      shape, [&]<class T>(T) { return BackwardWorkspace<T>(shape, in_turns).bytes(); });
}

void backward(const BackwardProblem& problem, cudaStream_t stream) {
  switch (problem.format) {
    case Format::bf16:
      return backward_bf16(problem, stream);
    case Format::fp16:
      return backward_fp16(problem, stream);
    case Format::fp32:
      return backward_fp32(problem, stream);
  }
}

}  // namespace assay::flash
