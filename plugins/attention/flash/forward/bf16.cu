#include "tiles.cuh"

namespace assay::flash {

void forward_bf16(const Problem& problem, cudaStream_t stream) {
  forward_of<__nv_bfloat16>(problem, stream);
}

}  // namespace assay::flash
