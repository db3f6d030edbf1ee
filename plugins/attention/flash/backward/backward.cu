#include "tiles.cuh"

namespace assay::flash {

std::int64_t backward_workspace_bytes(const Shape& shape, bool in_turns) {
  // The tiles are the same for both types.
  return with_backward_tile<__half>(
      shape, [&]<class T>(T) { return BackwardWorkspace<T>(shape, in_turns).bytes(); });
}

void backward(const BackwardProblem& problem, cudaStream_t stream) {
  problem.bf16 ? backward_bf16(problem, stream) : backward_fp16(problem, stream);
}

}  // namespace assay::flash
