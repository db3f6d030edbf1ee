#pragma once

#include "backward.cuh"
#include "direct.h"
#include "dispatch.cuh"
#include "sum_parts.cuh"

namespace assay::norm_parts {

// LayerNorm's with a residual keeps most for each column.
constexpr int backward_elements(bool centred, bool residual, Access access) {
  return centred && residual && access == Access::aligned ? many_elements : elements;
}

// The kernel for known_threads() of a row; null where reads_ahead() is false of all that have them.
template <class Scalar, bool centred, bool residual, int of_thread>
auto kernel_ahead(int of_row) {
  void (*found)(Backward<Scalar>, Layout) = nullptr;
  with_known_threads(of_row, [&]<int known>() {
    constexpr PassKind kind = {
        .centred = centred, .adds = residual, .element_size = sizeof(Scalar)};
    if constexpr (is_ever_ahead(kind, of_thread, known)) {
      found = backward_ahead<Scalar, centred, residual, of_thread, known>;
    }
  });
  return found;
}

template <bool centred>
Plan Kernels<centred>::backward_plan(const BackwardCall& call, const Machine& machine) {
  const int size = size_of(call.x.dtype);
  const bool adds = call.dsum != nullptr;
  const Access access = access_of(call.size.n_cols, size);
  const int of_thread = backward_elements(centred, adds, access);
  const PassKind kind = {.centred = centred, .adds = adds, .element_size = size};
  if (access == Access::aligned && reads_ahead(kind, of_thread, call.size.n_cols)) {
    return plan_ahead(of_thread, call.size.rows, call.size.n_cols, call.size.eps, machine);
  }
  const Need need = need_of(call.size, of_thread, size, size * (adds ? 3 : 2), true);
  // Each block writes a row of partial gradients: only where rows are askew do blocks follow one
  // another, which gains most there. The narrower the elements and the fewer the streams, the less
  // is to arrive ahead of use, or what is written waits. Measured: docs/kernels/norms.md.
  const int ring_kib = need.bytes_a_column == 4   ? (centred ? 140 : 100)
                       : need.bytes_a_column == 6 ? 180
                                                  : 220;
  const Filling filling = {.threads = largest_segment / 2 / of_thread,
                           .blocks = 2,
                           .ring_bytes = ring_kib << 10,
                           .waves = access == Access::askew ? 6 : 0};
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
    if constexpr (access == Access::aligned) {
      if (plan.layout.stages == 0) {
        const auto kernel = kernel_ahead<Scalar, centred, residual, of_thread>(
            known_threads(of_thread, call.size.n_cols));
        if (kernel == nullptr) return cudaErrorInvalidValue;
        return launch(kernel, plan, stream, of, plan.layout);
      }
    }
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
