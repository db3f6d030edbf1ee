#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <assay/plugin.h>

#include <cmath>
#include <cstdint>
#include <optional>

namespace assay {

// Scaled dot-product attention: softmax(scale · q kᵀ + mask) v, with the softmax over the keys.
// mask is 0 for keys that the query sees and −∞ for the others; a query that sees no key gives 0.
// Vaswani et al. 2017, "Attention Is All You Need", equation 1.
// q: [batch, heads, seq_q, d_head]; k, v: [batch, kv_heads, seq_k, d_head]. All share one dtype and
// device. d_head is contiguous; the other strides are arbitrary.
// kv_heads divides heads: query head h reads head h / (heads / kv_heads) of k and v. Fewer kv_heads
// than heads are grouped queries (Ainslie et al. 2023, "GQA").
// Query i stands at the key p = i + seq_k − seq_q. It sees the keys j with
//   j ≤ p            where causal,
//   |p − j| < window where window > 0: itself and window − 1 keys on each side.
// A causal window so holds the query's own key and the window − 1 before it (Beltagy et al. 2020,
// "Longformer", section 3.1; Jiang et al. 2023, "Mistral 7B", section 2).
struct AttentionInputs {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  bool causal = true;
  double scale = 0;         // usually 1 / sqrt(d_head)
  std::int64_t window = 0;  // 0: none
};

// [seq_q, seq_k] bool on q's device, true where the query must not see the key; undefined where
// every query sees every key.
at::Tensor hidden_keys(const AttentionInputs& in);

struct AttentionOutput {
  at::Tensor out;  // like q
  // [batch, heads, seq_q] float: log of the sum of exp(scale · q kᵀ + mask) over the keys. L in Dao
  // 2023, "FlashAttention-2", algorithm 1.
  at::Tensor lse;
};

struct AttentionGradients {
  at::Tensor dq;
  at::Tensor dk;  // like k: summed over the queries' heads of a group
  at::Tensor dv;
};

// Computes dq, dk and dv in plain operations for a kernel without a backward, with groups and
// window. Recomputes the probabilities from lse, which takes seq_q × seq_k elements a head. Dao
// 2023, section 2.3.2.
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

  // Whether it takes fewer heads of k and v than of q, and a window. Inputs with what a variant
  // does not declare are Unsupported; none of its other functions is called for them.
  virtual bool grouped() const { return false; }
  virtual bool windowed() const { return false; }

  // Why the variant cannot handle these inputs; empty where it can.
  virtual std::optional<std::string> unsupported(const AttentionInputs&) const { return {}; }
};

}  // namespace assay

#include <assay/detail/attention.h>
