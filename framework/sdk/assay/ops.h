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
// Loshchilov and Hutter 2019, algorithm 2. grad_scale and found_inf are defined only under loss
// scaling: gradients are then divided by grad_scale, and the step is skipped where found_inf is 1.
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
};

// The operations a model is built from. They start as textbook ones; the experiment's plugins
// supply attention and norm, precision may wrap linear, and a compile variant may replace what is
// not pinned. All are differentiable except optimizer.
struct Ops {
  std::function<at::Tensor(const AttentionInputs&)> attention;
  std::function<at::Tensor(const NormInputs&)> norm;
  bool norm_has_bias = false;
  // (residual, x) → (residual + x, norm(residual + x)). Takes its arguments by value: moved-in
  // tensors are freed before the norm, whose output then reuses memory that is still in the L2
  // cache.
  std::function<std::pair<at::Tensor, at::Tensor>(at::Tensor residual, NormInputs x)> add_norm;
  // x: [..., in], weight: [out, in] → [..., out].
  std::function<at::Tensor(const at::Tensor& x, const at::Tensor& weight)> linear;
  // x: [batch, heads, seq, d_head]; cos, sin: [seq, d_head / 2]; pairs (2i, 2i+1). Su 2021, eq. 34.
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
