#include "model/textbook_ops.h"

#include <ATen/ops/complex.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>

#include <utility>

#include "model/adamw.h"

namespace assay::model {

namespace {

at::ScalarType at_least_float(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// Rotates pair (2i, 2i+1), taken as a complex number, by e^{iθ} = cos θ + i sin θ.
at::Tensor rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const auto pairs = at::view_as_complex(x.to(at_least_float(x)).unflatten(-1, {-1, 2}));
  const auto turns = at::complex(cos, sin).unsqueeze(1);  // the same for all heads
  return at::view_as_real(pairs * turns).flatten(-2).to(x.scalar_type());
}

at::Tensor loss(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits.to(at_least_float(logits)), targets);
}

}  // namespace

Ops textbook_ops() {
  Ops ops;
  ops.linear = [](const at::Tensor& x, const at::Tensor& weight) { return at::linear(x, weight); };
  ops.rope = rope;
  ops.swiglu = [](const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate) * up; };
  ops.gelu = [](const at::Tensor& x) { return at::gelu(x); };
  ops.embedding = [](const at::Tensor& tokens, const at::Tensor& table) {
    return at::embedding(table, tokens);
  };
  ops.loss = loss;
  ops.optimizer = adamw;
  return ops;
}

void complete(Ops& ops) {
  if (!ops.add_norm && ops.norm) {
    ops.add_norm = [norm = ops.norm](at::Tensor residual, NormInputs x) {
      x.x = std::exchange(residual, {}) + x.x;
      at::Tensor normed = norm(x);
      return std::pair(std::move(x.x), std::move(normed));
    };
  }
  if (!ops.qkv) {
    ops.qkv = [linear = ops.linear](const at::Tensor& x, const Qkv& weights) {
      return Qkv{linear(x, weights.q), linear(x, weights.k), linear(x, weights.v)};
    };
  }
  if (!ops.gate_up) {
    ops.gate_up = [linear = ops.linear](const at::Tensor& x, const GateUp& weights) {
      return GateUp{linear(x, weights.gate), linear(x, weights.up)};
    };
  }
}

}  // namespace assay::model
