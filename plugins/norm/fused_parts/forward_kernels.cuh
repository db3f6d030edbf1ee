#pragma once

#include "dispatch.cuh"
#include "forward.cuh"

namespace assay::norm_parts {

inline bool forward_aligned(const ForwardCall& call) {
  const auto fits = [&](const void* data, Dtype dtype) {
    return aligned(data, dtype, call.size.n_cols);
  };
  const Dtype dtype = call.x.dtype;
  return fits(call.x.data, dtype) && fits(call.out, dtype) && fits(call.sum, dtype) &&
         fits(call.addend.data, call.addend.dtype);
}

template <bool centred>
cudaError_t Kernels<centred>::forward(const ForwardCall& call, const Machine& machine,
                                      cudaStream_t stream) {
  const bool adds = call.addend.data != nullptr;
  const int bytes = size_of(call.x.dtype) + (adds ? size_of(call.addend.dtype) : 0);
  const auto made = plan(need_of(call.size, elements, bytes, false), Filling(), machine);
  if (!made) return cudaErrorInvalidValue;
  const auto run = [&]<class Scalar, class Addend>(Scalar, Addend) {
    const Forward<Scalar, Addend> of = {.x = static_cast<const Scalar*>(call.x.data),
                                        .addend = static_cast<const Addend*>(call.addend.data),
                                        .weight = call.weight,
                                        .bias = call.bias,
                                        .out = static_cast<Scalar*>(call.out),
                                        .sum = static_cast<Scalar*>(call.sum)};
    const auto kernel =
        forward_aligned(call)
            ? norm_parts::forward<Scalar, Addend, centred, elements, Access::bulk>
            : norm_parts::forward<Scalar, Addend, centred, elements, Access::scalars>;
    return launch(kernel, *made, stream, of, made->layout);
  };
  return with_scalar(call.x.dtype, [&]<class Scalar>(Scalar scalar) {
    if (!adds || call.addend.dtype == call.x.dtype) return run(scalar, scalar);
    if constexpr (sizeof(Scalar) == sizeof(float)) {
      if (call.addend.dtype == Dtype::bf16) return run(scalar, __nv_bfloat16());
      return run(scalar, __half());
    } else {
      return cudaErrorInvalidValue;
    }
  });
}

}  // namespace assay::norm_parts
