#include <ATen/core/grad_mode.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/zeros.h>
#include <assay/attention.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <limits>

#ifdef ASSAY_WITH_CUDA
#include <ATen/cuda/CUDAContext.h>
#endif

// LibTorch's four implementations of scaled dot-product attention, each called by name so that
// LibTorch's own choice does not matter.
namespace {

using assay::AttentionInputs;
using Reason = std::optional<std::string>;

bool grouped_queries(const AttentionInputs& in) { return in.q.size(1) != in.k.size(1); }

// LibTorch's is_causal aligns the mask with the first key, the SDK with the last; it has no window.
bool needs_explicit_mask(const AttentionInputs& in) {
  return in.window > 0 || (in.causal && in.q.size(2) != in.k.size(2));
}

// [seq_q, seq_k] in q's dtype: 0 where the key is seen, else −∞.
at::Tensor additive_mask(const AttentionInputs& in) {
  const auto options = in.q.options().requires_grad(false);
  return at::zeros({in.q.size(2), in.k.size(2)}, options)
      .masked_fill_(assay::hidden_keys(in), -std::numeric_limits<double>::infinity());
}

std::optional<at::Tensor> mask_if_needed(const AttentionInputs& in) {
  return needs_explicit_mask(in) ? std::optional(additive_mask(in)) : std::nullopt;
}

bool needs_gradient(const AttentionInputs& in) {
  return at::GradMode::is_enabled() &&
         (in.q.requires_grad() || in.k.requires_grad() || in.v.requires_grad());
}

bool half_width(const AttentionInputs& in) {
  return in.q.scalar_type() == at::kHalf || in.q.scalar_type() == at::kBFloat16;
}

std::string head_size(const AttentionInputs& in) {
  return "the head size " + std::to_string(in.q.size(3));
}

// The device's compute capability as 10 · major + minor; 0 without CUDA.
int compute_capability(const AttentionInputs& in) {
#ifdef ASSAY_WITH_CUDA
  const auto* properties = at::cuda::getDeviceProperties(in.q.get_device());
  return 10 * properties->major + properties->minor;
#else
  static_cast<void>(in);
  return 0;
#endif
}

void throw_if(const Reason& reason) {
  if (reason) throw assay::Unsupported(*reason);
}

class Math final : public assay::Attention {
 public:
  bool grouped() const override { return true; }
  bool windowed() const override { return true; }

  at::Tensor forward(const AttentionInputs& in) override {
    // Computes in q's dtype, as when LibTorch dispatches to it under autocast.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const auto mask = mask_if_needed(in);
    return std::get<0>(at::_scaled_dot_product_attention_math(
        in.q, in.k, in.v, mask, /*dropout_p=*/0, in.causal && !mask, std::nullopt, in.scale,
        /*enable_gqa=*/grouped_queries(in)));
  }

  static std::string memory_estimate() {
    return "batch * heads * seq_len^2 * if(workload == model_step,"
           " if(runs_backward > 0, layers * 4, 0) + 3 * 4, 4 * if(runs_backward > 0, 4, 2))";
  }
};

class Efficient final : public assay::Attention {
 public:
  static std::vector<std::string> devices() { return {"cuda"}; }

  Reason unsupported(const AttentionInputs& in) const override {
    if (!in.q.is_cuda()) return "LibTorch's memory-efficient attention needs a CUDA device";
    if (in.q.scalar_type() == at::kDouble) return "it takes fp32, fp16 and bf16";
    if (needs_explicit_mask(in)) return "a causal mask needs as many queries as keys here";
    const int alignment = half_width(in) ? 8 : 4;
    if (in.q.size(3) % alignment != 0) {
      return head_size(in) + " is not a multiple of " + std::to_string(alignment);
    }
    return {};
  }

  at::Tensor forward(const AttentionInputs& in) override {
    throw_if(unsupported(in));
    return std::get<0>(at::_scaled_dot_product_efficient_attention(
        in.q, in.k, in.v, /*attn_bias=*/std::nullopt, /*compute_log_sumexp=*/needs_gradient(in),
        /*dropout_p=*/0, in.causal, in.scale));
  }
};

class Flash final : public assay::Attention {
 public:
  bool grouped() const override { return true; }
  bool windowed() const override { return true; }

  Reason unsupported(const AttentionInputs& in) const override {
    if (in.q.is_cpu()) return {};
    if (!in.q.is_cuda()) return "LibTorch's flash attention needs a CPU or a CUDA device";
    if (!half_width(in)) {
      return std::string("LibTorch's flash attention takes fp16 and bf16 on a GPU, not ") +
             c10::toString(in.q.scalar_type());
    }
    if (compute_capability(in) < 80) return "needs a GPU of compute capability 8.0 or newer";
    if (in.window > 0) return "LibTorch's flash attention has no window on a GPU";
    if (needs_explicit_mask(in)) return "a causal mask needs as many queries as keys here";
    if (in.q.size(3) % 8 != 0) return head_size(in) + " is not a multiple of 8";
    if (in.q.size(3) > 256) return head_size(in) + " is above 256";
    return {};
  }

  at::Tensor forward(const AttentionInputs& in) override {
    throw_if(unsupported(in));
    if (in.q.is_cpu()) return on_cpu(in);
    return std::get<0>(at::_scaled_dot_product_flash_attention(
        in.q, in.k, in.v, /*dropout_p=*/0, in.causal, /*return_debug_mask=*/false, in.scale));
  }

 private:
  static at::Tensor on_cpu(const AttentionInputs& in) {
    const auto mask = mask_if_needed(in);
    return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
        in.q, in.k, in.v, /*dropout_p=*/0, in.causal && !mask, mask, in.scale));
  }
};

class Cudnn final : public assay::Attention {
 public:
  bool grouped() const override { return true; }

  static std::vector<std::string> devices() { return {"cuda"}; }

  Reason unsupported(const AttentionInputs& in) const override {
    if (!in.q.is_cuda()) return "cuDNN's attention needs a CUDA device";
    if (!half_width(in)) {
      return std::string("cuDNN's attention takes fp16 and bf16, not ") +
             c10::toString(in.q.scalar_type());
    }
    if (compute_capability(in) < 80) return "needs a GPU of compute capability 8.0 or newer";
    if (needs_explicit_mask(in)) return "a causal mask needs as many queries as keys here";
    if (in.q.size(3) % 8 != 0) return head_size(in) + " is not a multiple of 8";
    const int largest = compute_capability(in) >= 90 ? 256 : 128;
    if (in.q.size(3) > largest) {
      return head_size(in) + " is above " + std::to_string(largest);
    }
    // A failed plan stays in cuDNN's cache, and the next call of that shape reads it.
    if (needs_gradient(in) && in.q.size(2) == 1 && in.k.size(2) == 1) {
      return "cuDNN has no gradients for a single query and key";
    }
    return {};
  }

  at::Tensor forward(const AttentionInputs& in) override {
    throw_if(unsupported(in));
    return std::get<0>(at::_scaled_dot_product_cudnn_attention(
        in.q, in.k, in.v, /*attn_bias=*/std::nullopt, /*compute_log_sumexp=*/needs_gradient(in),
        /*dropout_p=*/0, in.causal, /*return_debug_mask=*/false, in.scale));
  }
};

}  // namespace

ASSAY_PLUGINS(
    assay::plugin<Math>("math_libtorch", "LibTorch's attention from plain operations."),
    assay::plugin<Efficient>("efficient_libtorch",
                             "LibTorch's memory-efficient attention, on a GPU."),
    assay::plugin<Flash>("flash_libtorch",
                         "LibTorch's FlashAttention: fp16 and bf16 on a GPU, its own on a CPU."),
    assay::plugin<Cudnn>("cudnn_libtorch",
                         "cuDNN's attention through LibTorch: fp16 and bf16, on a GPU."))
