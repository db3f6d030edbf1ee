#pragma once

#include "backward.cuh"
#include "dispatch.cuh"
#include "sum_parts.cuh"

namespace assay::norm_parts {

inline bool has_bulk(const BackwardCall& call) {
  const auto fits = [&](const void* data) { return aligned(data, call.x.dtype, call.size.n_cols); };
  return fits(call.x.data) && fits(call.dout) && fits(call.dsum) && fits(call.dx);
}

template <bool centred>
Plan Kernels<centred>::backward_plan(const BackwardCall& call, const Machine& machine) {
  const bool adds = call.dsum != nullptr;
  const int of_thread = centred && adds && has_bulk(call) ? many_elements : elements;
  const int bytes = size_of(call.x.dtype) * (adds ? 3 : 2);
  return plan(need_of(call.size, of_thread, bytes, true), Filling(), machine).value_or(Plan());
}

template <bool centred>
cudaError_t Kernels<centred>::backward(const BackwardCall& call, const Plan& plan,
                                       cudaStream_t stream) {
  if (plan.block_threads == 0) return cudaErrorInvalidValue;
  const bool bulk = has_bulk(call);
  const cudaError_t error = with_scalar(call.x.dtype, [&]<class Scalar>(Scalar) {
    const Backward<Scalar> of = {.x = static_cast<const Scalar*>(call.x.data),
                                 .dout = static_cast<const Scalar*>(call.dout),
                                 .dsum = static_cast<const Scalar*>(call.dsum),
                                 .weight = call.weight,
                                 .dx = static_cast<Scalar*>(call.dx),
                                 .parts = call.parts};
    constexpr int with_residual = centred ? many_elements : elements;
    const auto kernel =
        !bulk ? norm_parts::backward<Scalar, centred, true, elements, Access::scalars>
        : call.dsum == nullptr
            ? norm_parts::backward<Scalar, centred, false, elements, Access::bulk>
            : norm_parts::backward<Scalar, centred, true, with_residual, Access::bulk>;
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
