#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <assay/attention.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "launch.h"

// The project's FlashAttention for Hopper: Dao 2023, "FlashAttention-2"; Shah et al. 2024,
// "FlashAttention-3". The kernel is in forward.cuh.
namespace {

using assay::AttentionInputs;
using assay::AttentionOutput;

constexpr std::int64_t largest_head = 128;
constexpr std::int64_t alignment = 8;  // elements of 2 bytes: the copy engine counts in 16 bytes

bool copy_engine_takes(const at::Tensor& tensor) {
  if (reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 16 != 0) return false;
  for (int dim = 0; dim < 3; ++dim) {
    const auto stride = tensor.stride(dim);
    if (tensor.size(dim) > 1 && (stride <= 0 || stride % alignment != 0)) return false;
  }
  return tensor.stride(3) == 1;
}

at::Tensor readable(const at::Tensor& tensor) {
  return copy_engine_takes(tensor) ? tensor : tensor.clone(at::MemoryFormat::Contiguous);
}

assay::flash::Operand operand(const at::Tensor& tensor, void* data) {
  return {data, tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

assay::flash::Operand input(const at::Tensor& tensor) {
  return operand(tensor, const_cast<void*>(tensor.const_data_ptr()));
}

assay::flash::Shape shape_of(const AttentionInputs& in, double scale) {
  constexpr std::int64_t widest = 1 << 30;  // beyond any sequence, with room to add a position
  return {.batch = static_cast<int>(in.q.size(0)),
          .heads = static_cast<int>(in.q.size(1)),
          .kv_heads = static_cast<int>(in.k.size(1)),
          .queries = static_cast<int>(in.q.size(2)),
          .keys = static_cast<int>(in.k.size(2)),
          .head = static_cast<int>(in.q.size(3)),
          .causal = in.causal,
          .window = static_cast<int>(std::min(in.window, widest)),
          .scale = static_cast<float>(scale * std::log2(std::exp(1.0)))};
}

class Flash final : public assay::Attention {
 public:
  bool grouped() const override { return true; }
  bool windowed() const override { return true; }
  bool differentiable() const override { return false; }

  std::optional<std::string> unsupported(const AttentionInputs& in) const override {
    if (!in.q.is_cuda()) {
      return "it needs a GPU of compute capability 9.0; LibTorch's is flash_libtorch";
    }
    const auto* device = at::cuda::getDeviceProperties(in.q.get_device());
    if (device->major != 9 || device->minor != 0) {
      return "it needs a GPU of compute capability 9.0, not " + std::to_string(device->major) +
             "." + std::to_string(device->minor) + "; LibTorch's is flash_libtorch";
    }
    if (in.q.scalar_type() != at::kHalf && in.q.scalar_type() != at::kBFloat16) {
      return std::string("it takes fp16 and bf16, not ") + c10::toString(in.q.scalar_type());
    }
    const auto head = std::to_string(in.q.size(3));
    if (in.q.size(3) % alignment != 0) return "the head size " + head + " is not a multiple of 8";
    if (in.q.size(3) > largest_head) return "the head size " + head + " is above 128";
    return {};
  }

  at::Tensor forward(const AttentionInputs& in) override { return forward_with_lse(in).out; }

  AttentionOutput forward_with_lse(const AttentionInputs& in) override {
    if (const auto reason = unsupported(in)) throw assay::Unsupported(*reason);
    AttentionOutput output = {
        at::empty_like(in.q),
        at::empty({in.q.size(0), in.q.size(1), in.q.size(2)}, in.q.options().dtype(at::kFloat))};
    if (in.k.size(2) == 0) {
      output.out.zero_();
      output.lse.fill_(-std::numeric_limits<double>::infinity());
    }
    if (in.q.numel() == 0 || in.k.size(2) == 0) return output;
    // The kernel takes a row's largest score for that of the largest weight: the scale is above 0.
    const bool flipped = !(in.scale > 0);
    const auto q = flipped ? in.q * (in.scale < 0 ? -1 : 0) : readable(in.q);
    const auto k = readable(in.k), v = readable(in.v);
    if (!copy_engine_takes(output.out)) output.out = output.out.contiguous();
    const auto shape = shape_of(in, in.scale == 0 ? 1 : std::abs(in.scale));
    auto workspace =
        at::empty({assay::flash::workspace_bytes(shape)}, in.q.options().dtype(at::kByte));
    assay::flash::forward({.shape = shape,
                           .q = input(flipped ? readable(q) : q),
                           .k = input(k),
                           .v = input(v),
                           .out = operand(output.out, output.out.mutable_data_ptr()),
                           .bf16 = in.q.scalar_type() == at::kBFloat16,
                           .lse = output.lse.mutable_data_ptr<float>(),
                           .workspace = workspace.mutable_data_ptr()},
                          at::cuda::getCurrentCUDAStream());
    return output;
  }
};

}  // namespace

ASSAY_PLUGIN(Flash, "flash", "FlashAttention in CUDA C++ for Hopper: fp16 and bf16, forward alone.")
