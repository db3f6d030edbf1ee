#pragma once

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <assay/norm.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels.h"

namespace assay::norm_parts {

inline Dtype dtype_of(const at::Tensor& x) {
  switch (x.scalar_type()) {
    case at::kFloat:
      return Dtype::fp32;
    case at::kBFloat16:
      return Dtype::bf16;
    case at::kHalf:
      return Dtype::fp16;
    default:
      throw Unsupported(std::string("it computes in fp32, fp16 and bf16, not in ") +
                        c10::toString(x.scalar_type()));
  }
}

inline Typed typed(const at::Tensor& x) {
  if (!x.defined()) return {};
  return {const_cast<void*>(x.const_data_ptr()), dtype_of(x)};
}

// Contiguous, and from a multiple of 16 bytes on, which any allocation is and a part of one may not
// be.
inline at::Tensor in_rows(const at::Tensor& x) {
  if (!x.defined()) return x;
  const auto made = x.contiguous();
  return is_aligned(made.const_data_ptr()) ? made : made.clone(at::MemoryFormat::Contiguous);
}

inline Size size_of(const at::Tensor& x, double eps) {
  const auto n_cols = x.size(-1);
  return {x.numel() / n_cols, static_cast<int>(n_cols), static_cast<float>(eps)};
}

inline int attribute_of(int device, cudaDeviceAttr attribute) {
  int value = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

// Of the current device. The kernels themselves declare up to 2 KiB of shared memory.
inline Machine current_machine() {
  const int device = c10::cuda::current_device();
  constexpr int declared = 2048;
  return {.multiprocessors = attribute_of(device, cudaDevAttrMultiProcessorCount),
          .shared_bytes = attribute_of(device, cudaDevAttrMaxSharedMemoryPerBlockOptin) - declared};
}

inline bool is_hopper(const at::Device& device) {
  return attribute_of(device.index(), cudaDevAttrComputeCapabilityMajor) == 9;
}

// x, or residual and x, of NormInputs in one memory order.
template <bool centred>
AddNormOutput fused_forward(const at::Tensor& x, const at::Tensor& addend, const NormInputs& in) {
  const auto rows = in_rows(x), added = in_rows(addend);
  const auto weight = in.weight.contiguous(),
             bias = in.bias.defined() ? in.bias.contiguous() : in.bias;
  AddNormOutput made;
  made.out = at::empty_like(rows);
  if (added.defined()) made.sum = at::empty_like(rows);
  if (rows.numel() == 0) return made;
  const c10::cuda::CUDAGuard device(rows.device());
  C10_CUDA_CHECK(
      Kernels<centred>::forward({.size = size_of(rows, in.eps),
                                 .x = typed(rows),
                                 .addend = typed(added),
                                 .weight = typed(weight),
                                 .bias = typed(bias),
                                 .out = made.out.mutable_data_ptr(),
                                 .sum = added.defined() ? made.sum.mutable_data_ptr() : nullptr},
                                current_machine(), c10::cuda::getCurrentCUDAStream()));
  return made;
}

// `bias` gives the dtype of its gradient alone.
template <bool centred>
NormGradients fused_backward(const NormInputs& in, const at::Tensor& dout, const at::Tensor& dsum) {
  const auto x = in_rows(in.x), weight = in.weight.contiguous();
  const auto upstream = in_rows(dout), aside = in_rows(dsum);
  NormGradients made = {at::empty_like(x), at::empty_like(weight), {}};
  if (in.bias.defined()) made.dbias = at::empty_like(in.bias, at::MemoryFormat::Contiguous);
  if (x.numel() == 0) {
    made.dweight.zero_();
    if (made.dbias.defined()) made.dbias.zero_();
    return made;
  }
  const c10::cuda::CUDAGuard device(x.device());
  BackwardCall call = {.size = size_of(x, in.eps),
                       .x = typed(x),
                       .dout = upstream.const_data_ptr(),
                       .dsum = aside.defined() ? aside.const_data_ptr() : nullptr,
                       .weight = typed(weight),
                       .dx = made.dx.mutable_data_ptr(),
                       .dweight = typed(made.dweight),
                       .dbias = typed(made.dbias)};
  const auto plan = Kernels<centred>::backward_plan(call, current_machine());
  const auto parts = at::empty({plan.layout.blocks, centred ? 2 : 1, call.size.n_cols},
                               x.options().dtype(at::kFloat));
  call.parts = static_cast<float*>(parts.mutable_data_ptr());
  C10_CUDA_CHECK(Kernels<centred>::backward(call, plan, c10::cuda::getCurrentCUDAStream()));
  return made;
}

template <bool centred>
struct FusedFunction : torch::autograd::Function<FusedFunction<centred>> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            double eps) {
    context->save_for_backward({x, weight, bias.value_or(at::Tensor())});
    context->saved_data["eps"] = eps;
    return fused_forward<centred>(x, {}, {x, weight, bias.value_or(at::Tensor()), eps}).out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto made = fused_backward<centred>(
        {saved[0], saved[1], saved[2], context->saved_data["eps"].toDouble()}, gradients[0], {});
    return {made.dx, made.dweight, made.dbias, at::Tensor()};
  }
};

// LayerNorm if centred, else RMSNorm: a kernel forward, two backward.
template <bool is_centred>
class FusedNorm : public Norm {
 public:
  static std::vector<std::string> devices() { return {"cuda"}; }

  bool has_bias() const override { return is_centred; }
  bool has_add_backward() const override { return true; }

  at::Tensor forward(const NormInputs& in) override {
    const auto bias = in.bias.defined() ? std::optional(in.bias) : std::nullopt;
    return FusedFunction<is_centred>::apply(in.x, in.weight, bias, in.eps);
  }

  AddNormOutput add_forward(at::Tensor residual, NormInputs in) override {
    const auto wide = c10::promoteTypes(residual.scalar_type(), in.x.scalar_type());
    // The kernel adds a narrower tensor to one in the sum's dtype, where rows of both are aligned.
    if (residual.scalar_type() != wide) std::swap(residual, in.x);
    if (in.x.size(-1) % (row_alignment / in.x.element_size()) != 0) in.x = in.x.to(wide);
    return fused_forward<is_centred>(residual.to(wide), in.x, in);
  }

  AddNormGradients add_backward(const NormInputs& in, const std::vector<at::Tensor>&,
                                const at::Tensor& dsum, const at::Tensor& dout) override {
    auto made = fused_backward<is_centred>(in, dout, dsum);
    return {std::move(made.dx), std::move(made.dweight), std::move(made.dbias)};
  }

  std::optional<std::string> unsupported(const NormInputs& in) const override {
    if (!in.x.is_cuda()) return "it needs a CUDA device";
    if (in.x.scalar_type() == at::kDouble) return "it computes in fp32";
    if (in.x.size(-1) > most_columns) {
      return "rows of more than " + std::to_string(most_columns) +
             " columns: a cluster's registers hold no more";
    }
    if (!is_hopper(in.x.device())) return "its kernels are for compute capability 9.0";
    return {};
  }
};

}  // namespace assay::norm_parts
