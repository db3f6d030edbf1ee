#include "norm/fused_parts/backward_kernels.cuh"

namespace assay::norm_parts {

template Plan Kernels<true>::backward_plan(const BackwardCall&, const Machine&);
template cudaError_t Kernels<true>::backward(const BackwardCall&, const Plan&, cudaStream_t);

}  // namespace assay::norm_parts
