#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <assay/attention.h>
#include <assay/norm.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay {

// AdamW over lists of equal length, in place. steps are float tensors on the parameters' device.
// Loshchilov and Hutter 2019, algorithm 2. In this order:
// - grad_scale and found_inf are defined only under loss scaling: gradients are divided by
//   grad_scale, and where found_inf is 1 the step is skipped.
// - Where max_grad_norm > 0 and the gradients' norm exceeds it, all gradients are multiplied by
//   max_grad_norm / norm. Pascanu et al. 2013, "On the difficulty of training recurrent neural
//   networks", algorithm 1. The norm is that of all elements of all gradients together, or
//   grad_norm where a caller gives it, as one does whose ranks hold a part each.
// - gradients[i] may have another floating dtype than parameters[i]. It is taken in that one's, and
//   multiplied there, so that fp32 parameters lose nothing of bf16 or fp16 gradients.
// - low_precision[i] is a copy of parameters[i] in another dtype, or undefined; empty: there are
//   none. They get the parameters' new values.
// Gradients hold afterwards what the limit made of them, rounded to their dtype; under loss scaling
// they are undefined. Nothing waits for the device.
struct OptimizerInputs {
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> first_moments;
  std::vector<at::Tensor> second_moments;
  std::vector<at::Tensor> steps;
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  at::Tensor grad_scale;
  at::Tensor found_inf;
  double max_grad_norm = 0;  // 0: no limit
  at::Tensor grad_norm;      // scalar on the parameters' device, of the gradients as they are given
  std::vector<at::Tensor> low_precision;
};

// Several products of one x, or the weights for them.
struct Qkv {
  at::Tensor q, k, v;
};
struct GateUp {
  at::Tensor gate, up;
};

// The weights, [out_i, in] each, as one [Σ out_i, in] without a copy where they lie one behind
// another in memory; undefined where they do not. A model's projections of one input begin so: they
// are parameters of their own over one allocation. A kernel can then take them as one product,
// forward and backward, and should fall back to several where a communication variant has moved
// them. The view records no graph.
at::Tensor joined(const std::vector<at::Tensor>& weights);

// The operations a model is built from. They start as textbook ones; the experiment's plugins
// supply attention and norm, precision may wrap linear, and a compile variant may replace what is
// not pinned. All are differentiable except optimizer.
struct Ops {
  std::function<at::Tensor(const AttentionInputs&)> attention;
  std::function<at::Tensor(const NormInputs&)> norm;
  bool norm_has_bias = false;
  // (residual, x) → (residual + x, norm(residual + x)), Norm's second entry. Takes its arguments by
  // value: moved-in tensors are freed before the norm, whose output then reuses memory that is
  // still in the L2 cache.
  std::function<std::pair<at::Tensor, at::Tensor>(at::Tensor residual, NormInputs x)> add_norm;
  // x: [..., in], weight: [out, in] → [..., out].
  std::function<at::Tensor(const at::Tensor& x, const at::Tensor& weight)> linear;
  // The products of one x: [..., in] with several weights, for what does them as one (joined()).
  // qkv: q [heads · d_head, in], k and v [kv_heads · d_head, in]. gate_up: twice [d_ff, in]; gate
  // is the input of silu. Precision and compile variants find them empty unless an earlier one has
  // set them; where they stay empty they become a linear each, in that order.
  std::function<Qkv(const at::Tensor& x, const Qkv& weights)> qkv;
  std::function<GateUp(const at::Tensor& x, const GateUp& weights)> gate_up;
  // x: [batch, seq, heads, d_head], as a projection gives it; cos, sin: [seq, d_head / 2]; turns
  // pairs (2i, 2i+1). Su 2021, eq. 34.
  std::function<at::Tensor(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin)> rope;
  // silu(gate) · up. Shazeer 2020.
  std::function<at::Tensor(const at::Tensor& gate, const at::Tensor& up)> swiglu;
  // Exact GELU, x · Φ(x). Hendrycks and Gimpel 2016.
  std::function<at::Tensor(const at::Tensor& x)> gelu;
  // tokens: [batch, seq] int64, table: [vocabulary, d_model] → [batch, seq, d_model].
  std::function<at::Tensor(const at::Tensor& tokens, const at::Tensor& table)> embedding;
  // logits: [batch · seq, vocabulary], targets: [batch · seq] int64 → mean cross-entropy, fp32
  // scalar.
  std::function<at::Tensor(const at::Tensor& logits, const at::Tensor& targets)> loss;
  std::function<void(const OptimizerInputs&)> optimizer;
};

// Kinds that the experiment names on an axis or in `fixed`; a compile variant must keep them.
using Pinned = std::set<std::string>;

}  // namespace assay
