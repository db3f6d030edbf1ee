#include "norm/fused_parts/forward_kernels.cuh"

namespace assay::norm_parts {

template cudaError_t Kernels<true>::forward(const ForwardCall&, const Machine&, cudaStream_t);

}  // namespace assay::norm_parts
