#include "tiles.cuh"

namespace assay::flash {

void backward_bf16(const BackwardProblem& problem, cudaStream_t stream) {
  with_backward_tile<__nv_bfloat16>(problem.shape,
                                    [&](auto tile) { launch_backward(tile, problem, stream); });
}

}  // namespace assay::flash
