#include "operations.h"

#include "adamw.h"
#include "compile/fused_parts/activation.h"
#include "compile/fused_parts/loss.h"
#include "compile/fused_parts/residual_norm.h"
#include "compile/fused_parts/rotary.h"
#include "compile/fused_parts/token_embedding.h"
#include "model/textbook_ops.h"

namespace assay::fused {

namespace {

template <class Operation>
bool is_same(const Operation& mine, const Operation& textbook) {
  return mine.target_type() == textbook.target_type();
}

void select_products(Ops& ops, const Shared& shared) {
  const Products products(shared.product, shared.copies);
  ops.linear = [products, others = ops.linear](const at::Tensor& x, const at::Tensor& weight) {
    return Products::takes(x, {weight}) ? products(x, {weight}).front() : others(x, weight);
  };
  if (!ops.qkv) {
    ops.qkv = [products, linear = ops.linear](const at::Tensor& x, const Qkv& weights) {
      const std::vector<at::Tensor> all = {weights.q, weights.k, weights.v};
      if (!Products::takes(x, all)) {
        return Qkv{linear(x, weights.q), linear(x, weights.k), linear(x, weights.v)};
      }
      const auto made = products(x, all);
      return Qkv{made[0], made[1], made[2]};
    };
  }
  if (!ops.gate_up) {
    ops.gate_up = [products, linear = ops.linear](const at::Tensor& x, const GateUp& weights) {
      const std::vector<at::Tensor> all = {weights.gate, weights.up};
      if (!Products::takes(x, all)) return GateUp{linear(x, weights.gate), linear(x, weights.up)};
      const auto made = products(x, all);
      return GateUp{made[0], made[1]};
    };
  }
}

void select_norm(Ops& ops) {
  const auto others = ops.norm;
  const auto others_add = ops.add_norm;
  ops.norm = [others](const NormInputs& in) { return takes_norm(in) ? norm(in) : others(in); };
  ops.add_norm = [others, others_add](at::Tensor residual, NormInputs in) {
    if (takes_add_norm(residual, in)) return add_norm(residual, in);
    if (others_add) return others_add(std::move(residual), std::move(in));
    in.x = std::exchange(residual, {}) + in.x;
    at::Tensor normed = others(in);
    return std::pair(std::move(in.x), std::move(normed));
  };
}

// The optimizer's kernel writes the copies that are kept.
OptimizerInputs with_copies(const OptimizerInputs& in, const WeightCopies& copies) {
  OptimizerInputs with = in;
  with.low_precision.resize(in.parameters.size());
  for (std::size_t i = 0; i < in.parameters.size(); ++i) {
    at::Tensor& copy = with.low_precision[i];
    if (!copy.defined()) copy = copies.kept(in.parameters[i]);
  }
  return with;
}

}  // namespace

void select(Ops& ops, const Pinned& pinned, const Shared& shared) {
  const Ops textbook = model::textbook_ops();
  if (is_same(ops.linear, textbook.linear)) select_products(ops, shared);
  if (ops.norm && !ops.norm_has_bias && !pinned.contains("norm")) select_norm(ops);
  if (is_same(ops.rope, textbook.rope)) {
    ops.rope = [others = ops.rope](const at::Tensor& x, const at::Tensor& cos,
                                   const at::Tensor& sin) {
      return takes_rope(x, cos, sin) ? rope(x, cos, sin) : others(x, cos, sin);
    };
  }
  if (is_same(ops.swiglu, textbook.swiglu)) {
    ops.swiglu = [others = ops.swiglu](const at::Tensor& gate, const at::Tensor& up) {
      return takes_swiglu(gate, up) ? swiglu(gate, up) : others(gate, up);
    };
  }
  if (is_same(ops.gelu, textbook.gelu)) {
    ops.gelu = [others = ops.gelu](const at::Tensor& x) {
      return takes_gelu(x) ? fused::gelu(x) : others(x);  // not at::gelu()
    };
  }
  if (is_same(ops.embedding, textbook.embedding)) {
    ops.embedding = [others = ops.embedding](const at::Tensor& tokens, const at::Tensor& table) {
      return takes_embedding(tokens, table) ? embedded(tokens, table) : others(tokens, table);
    };
  }
  if (is_same(ops.loss, textbook.loss)) {
    ops.loss = [others = ops.loss](const at::Tensor& logits, const at::Tensor& targets) {
      return takes_loss(logits, targets) ? loss(logits, targets) : others(logits, targets);
    };
  }
  ops.optimizer = [copies = shared.copies, others = ops.optimizer](const OptimizerInputs& in) {
    adamw(with_copies(in, *copies), others);
  };
}

bool can_keep_copies(const CaseContext& context) {
  if (context.group.size > 1) return false;
  if (!context.communication) return true;
  return !context.communication.traits().wants_blocks && !context.communication.slices();
}

}  // namespace assay::fused
