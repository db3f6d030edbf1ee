#pragma once

#include <algorithm>

#include "direct.h"
#include "dispatch.cuh"
#include "forward.cuh"

namespace assay::norm_parts {

// Blocks end after a few rows and others follow as multiprocessors become free, so that all work in
// one narrow part of memory and none is left behind. Rows of a chunk together read so many bytes a
// column that reading weight and bias does not count; where that takes too many rows blocks stay.
// Measured: docs/kernels/norms.md.
template <bool centred>
Filling forward_filling(const Need& need, Access access) {
  Filling filling = {.threads = 256, .blocks = 4, .ring_bytes = 96 << 10};
  filling.chunk = std::max(1, 8 / need.bytes_a_column);
  if constexpr (!centred) return filling;
  filling.shared_vectors = shares_weights(centred, access) ? 2 : 0;
  // A row of more needs a cluster, which blocks that stay would leave parts of the chip without.
  if (access == Access::aligned && need.bytes_a_column == 2 && need.n_cols <= largest_segment) {
    filling.blocks = 3;
    filling.ring_bytes = 32 << 10;
    filling.chunk = 0;
    return filling;
  }
  const bool is_wide = need.n_cols > largest_segment / 4;
  filling.threads = need.bytes_a_column > 2 ? 128 : 256;
  if (!is_wide) filling.ring_bytes = 64 << 10;
  filling.chunk = std::max(2, (is_wide ? 32 : 16) / need.bytes_a_column);
  return filling;
}

// Whether a thread may read its columns of weight and bias four at a time, both of one of two
// dtypes.
inline bool has_readable_weights(const ForwardCall& call) {
  const Typed &weight = call.weight, &bias = call.bias;
  return is_aligned(weight.data) && is_aligned(bias.data) &&
         (weight.dtype == Dtype::fp32 || weight.dtype == call.x.dtype) &&
         (bias.data == nullptr || bias.dtype == weight.dtype);
}

template <bool centred>
class ForwardLaunch {
 public:
  ForwardLaunch(const ForwardCall& call, const Machine& machine, cudaStream_t stream)
      : call_(call), machine_(machine), stream_(stream) {}

  template <class Scalar, class Addend>
  cudaError_t run() const {
    const Forward<Scalar, Addend> of = {.x = static_cast<const Scalar*>(call_.x.data),
                                        .addend = static_cast<const Addend*>(call_.addend.data),
                                        .weight = call_.weight,
                                        .bias = call_.bias,
                                        .out = static_cast<Scalar*>(call_.out),
                                        .sum = static_cast<Scalar*>(call_.sum)};
    const Access access = access_of(call_.size.n_cols, sizeof(Scalar));
    int direct = 0;
    if (access == Access::aligned && has_readable_weights(call_)) {
      direct = direct_elements(kind<Scalar>(of.addend != nullptr), call_.size.n_cols);
    }
    switch (direct) {
      case elements:
        return run_directly<elements>(of);
      case many_elements:
        return run_directly<many_elements>(of);
      default:
        return run_in_rings(of, access);
    }
  }

 private:
  template <class Scalar>
  static constexpr PassKind kind(bool adds) {
    return {.centred = centred, .adds = adds, .element_size = sizeof(Scalar)};
  }

  template <int of_thread, class Scalar, class Addend>
  cudaError_t run_directly(const Forward<Scalar, Addend>& of) const {
    constexpr bool is_chosen =
        is_ever_direct(kind<Scalar>(true), of_thread) ||
        (std::is_same_v<Scalar, Addend> && is_ever_direct(kind<Scalar>(false), of_thread));
    if constexpr (is_chosen) {
      const Size& size = call_.size;
      const Plan made = plan_directly(of_thread, size.rows, size.n_cols, size.eps);
      const auto kernel = call_.weight.dtype == Dtype::fp32
                              ? kernel_directly<of_thread, Scalar, Addend, float>()
                              : kernel_directly<of_thread, Scalar, Addend, Scalar>();
      return launch(kernel, made, stream_, of, made.layout);
    }
    return cudaErrorInvalidValue;
  }

  // One compiled for known_threads() of the row where there is one: with weights in fp32 and an
  // addend of the rows' dtype.
  template <int of_thread, class Scalar, class Addend, class Weight>
  auto kernel_directly() const {
    auto found = forward_directly<Scalar, Addend, Weight, centred, of_thread, 0>;
    if constexpr (std::is_same_v<Scalar, Addend> && std::is_same_v<Weight, float>) {
      const int of_row = known_threads(of_thread, call_.size.n_cols);
      with_known_threads(of_row, [&]<int known>() {
        if constexpr (is_ever_known(kind<Scalar>(false), of_thread, known) ||
                      is_ever_known(kind<Scalar>(true), of_thread, known)) {
          found = forward_directly<Scalar, Addend, Weight, centred, of_thread, known>;
        }
      });
    }
    return found;
  }

  template <class Scalar, class Addend>
  cudaError_t run_in_rings(const Forward<Scalar, Addend>& of, Access access) const {
    const int size = size_of(call_.x.dtype);
    const int added_size = of.addend == nullptr ? 0 : size_of(call_.addend.dtype);
    const Need need = need_of(call_.size, elements, size, size + added_size, false);
    const auto made = plan(need, forward_filling<centred>(need, access), machine_);
    if (!made) return cudaErrorInvalidValue;
    auto kernel = norm_parts::forward<Scalar, Addend, centred, Access::aligned>;
    if constexpr (std::is_same_v<Scalar, Addend>) {
      if (access == Access::askew)
        kernel = norm_parts::forward<Scalar, Addend, centred, Access::askew>;
    } else {
      if (call_.size.n_cols % width<Addend> != 0) return cudaErrorInvalidValue;
    }
    return launch(kernel, *made, stream_, of, made->layout);
  }

  const ForwardCall& call_;
  const Machine& machine_;
  cudaStream_t stream_;
};

template <bool centred>
cudaError_t Kernels<centred>::forward(const ForwardCall& call, const Machine& machine,
                                      cudaStream_t stream) {
  const ForwardLaunch<centred> made(call, machine, stream);
  return with_scalar(call.x.dtype, [&]<class Scalar>(Scalar) {
    if (call.addend.data == nullptr || call.addend.dtype == call.x.dtype) {
      return made.template run<Scalar, Scalar>();
    }
    if constexpr (sizeof(Scalar) == sizeof(float)) {
      if (call.addend.dtype == Dtype::bf16) return made.template run<Scalar, __nv_bfloat16>();
      return made.template run<Scalar, __half>();
    } else {
      return cudaErrorInvalidValue;
    }
  });
}

}  // namespace assay::norm_parts
