#pragma once

#include "backward.cuh"
#include "dispatch.cuh"
#include "sum_parts.cuh"

namespace assay::norm_parts {

// LayerNorm's with a residual keeps most for each column.
constexpr int backward_elements(bool centred, bool residual, Access access) {
  return centred && residual && access == Access::aligned ? many_elements : elements;
}

template <bool centred>
Plan Kernels<centred>::backward_plan(const BackwardCall& call, const Machine& machine) {
  const int size = size_of(call.x.dtype);
  const bool adds = call.dsum != nullptr;
  const int of_thread = backward_elements(centred, adds, access_of(call.size.n_cols, size));
  const int threads = largest_segment / 2 / of_thread;
  // Blocks stay, since each writes a row of partial gradients. Rows that arrive far ahead of use
  // hold up what is written; wide elements take longer to arrive.
  const Filling filling = {
      .threads = threads, .blocks = 2, .ring_bytes = size == sizeof(float) ? 200 << 10 : 100 << 10};
  const Need need = need_of(call.size, of_thread, size, size * (adds ? 3 : 2), true);
  return plan(need, filling, machine).value_or(Plan());
}

template <bool centred>
cudaError_t Kernels<centred>::backward(const BackwardCall& call, const Plan& plan,
                                       cudaStream_t stream) {
  if (plan.block_threads == 0) return cudaErrorInvalidValue;
  const auto run = [&]<class Scalar, bool residual, Access access>() {
    const Backward<Scalar> of = {.x = static_cast<const Scalar*>(call.x.data),
                                 .dout = static_cast<const Scalar*>(call.dout),
                                 .dsum = static_cast<const Scalar*>(call.dsum),
                                 .weight = call.weight,
                                 .dx = static_cast<Scalar*>(call.dx),
                                 .parts = call.parts};
    constexpr int of_thread = backward_elements(centred, residual, access);
    return launch(norm_parts::backward<Scalar, centred, residual, of_thread, access>, plan, stream,
                  of, plan.layout);
  };
  const cudaError_t error = with_scalar(call.x.dtype, [&]<class Scalar>(Scalar) {
    const bool adds = call.dsum != nullptr;
    if (plan.layout.classes > 1) {
      return adds ? run.template operator()<Scalar, true, Access::askew>()
                  : run.template operator()<Scalar, false, Access::askew>();
    }
    return adds ? run.template operator()<Scalar, true, Access::aligned>()
                : run.template operator()<Scalar, false, Access::aligned>();
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
