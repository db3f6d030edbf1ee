#pragma once

#include "backward.cuh"
#include "dispatch.cuh"
#include "sum_parts.cuh"

namespace assay::norm_parts {

template <bool centred>
Plan Kernels<centred>::backward_plan(const BackwardCall& call, const Machine& machine) {
  const int bytes = size_of(call.x.dtype) * (call.dsum == nullptr ? 2 : 3);
  return plan(need_of(call.size, bytes, true), Filling(), machine).value_or(Plan());
}

template <bool centred>
cudaError_t Kernels<centred>::backward(const BackwardCall& call, const Plan& plan,
                                       cudaStream_t stream) {
  if (plan.block_threads == 0) return cudaErrorInvalidValue;
  const auto fits = [&](const void* data) { return aligned(data, call.x.dtype, call.size.n_cols); };
  const bool bulk = fits(call.x.data) && fits(call.dout) && fits(call.dsum) && fits(call.dx);
  const cudaError_t error = with_scalar(call.x.dtype, [&]<class Scalar>(Scalar) {
    const Backward<Scalar> of = {.x = static_cast<const Scalar*>(call.x.data),
                                 .dout = static_cast<const Scalar*>(call.dout),
                                 .dsum = static_cast<const Scalar*>(call.dsum),
                                 .weight = call.weight,
                                 .dx = static_cast<Scalar*>(call.dx),
                                 .parts = call.parts};
    const auto kernel = !bulk
                            ? norm_parts::backward<Scalar, centred, true, elements, Access::scalars>
                        : call.dsum == nullptr
                            ? norm_parts::backward<Scalar, centred, false, elements, Access::bulk>
                            : norm_parts::backward<Scalar, centred, true, elements, Access::bulk>;
    return launch(kernel, plan, stream, of, plan.layout);
  });
  if (error != cudaSuccess) return error;
  return launch_sum({.parts = call.parts,
                     .count = plan.layout.blocks,
                     .vectors = centred ? 2 : 1,
                     .n_cols = call.size.n_cols,
                     .dweight = call.dweight,
                     .dbias = call.dbias},
                    stream);
}

}  // namespace assay::norm_parts
