#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <assay/plugin.h>

#include <cmath>
#include <optional>

namespace assay {

// Scaled dot-product attention: softmax(scale · q kᵀ + mask) v, with the softmax over the keys.
// mask is 0 for keys that the query sees and −∞ for the others. Vaswani et al. 2017, "Attention Is
// All You Need", equation 1.
// q: [batch, heads, seq_q, d_head]; k, v: [batch, heads, seq_k, d_head]. All share one dtype and
// device. d_head is contiguous; the other strides are arbitrary. causal: query i sees keys j ≤ i +
// seq_k − seq_q.
struct AttentionInputs {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  bool causal = true;
  double scale = 0;  // usually 1 / sqrt(d_head)
};

struct AttentionOutput {
  at::Tensor out;  // like q
  // [batch, heads, seq_q] float: log of the sum of exp(scale · q kᵀ + mask) over the keys. L in Dao
  // 2023, "FlashAttention-2", algorithm 1.
  at::Tensor lse;
};

struct AttentionGradients {
  at::Tensor dq;
  at::Tensor dk;
  at::Tensor dv;
};

// Computes dq, dk and dv in plain operations for a kernel without a backward. Recomputes the
// probabilities from lse, which takes seq_q × seq_k elements a head. Dao 2023, section 2.3.2.
AttentionGradients textbook_backward(const AttentionInputs& in, const at::Tensor& out,
                                     const at::Tensor& lse, const at::Tensor& dout);

// Derive from this. Calls come from one thread at a time, on the current CUDA stream.
class Attention {
 public:
  static constexpr const char* kind = "attention";

  virtual ~Attention() = default;

  // Returns [batch, heads, seq_q, d_head] in q's dtype, differentiable through autograd unless
  // differentiable() is false. Throws Unsupported for inputs it cannot handle.
  virtual at::Tensor forward(const AttentionInputs& in) = 0;

  // A variant with its own backward overrides these three; autograd then calls them.
  virtual bool has_backward() const { return false; }
  virtual AttentionOutput forward_with_lse(const AttentionInputs& in) {
    return {forward(in), at::Tensor()};
  }
  virtual AttentionGradients backward(const AttentionInputs&, const at::Tensor& /*out*/,
                                      const at::Tensor& /*lse*/, const at::Tensor& /*dout*/) {
    throw Unsupported("no backward");
  }

  virtual bool differentiable() const { return true; }

  // Why the variant cannot handle these inputs; empty where it can.
  virtual std::optional<std::string> unsupported(const AttentionInputs&) const { return {}; }
};

}  // namespace assay

#include <assay/detail/attention.h>
