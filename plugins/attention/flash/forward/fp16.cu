#include "tiles.cuh"

namespace assay::flash {

void forward_fp16(const Problem& problem, cudaStream_t stream) {
  forward_of<__half>(problem, stream);
}

}  // namespace assay::flash
