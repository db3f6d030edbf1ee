#include <unordered_map>

#include "model/random.h"
#include "model/textbook_ops.h"
#include "model/transformer.h"
#include "network.h"
#include "training/training_state.h"

namespace assay::dtype_trace {

namespace {

// What operations see while a step runs.
struct Trace {
  ObservedDtypes* observed = nullptr;
  std::string where;
  // By weight, what its product is.
  std::unordered_map<const void*, std::string> products;

  at::Tensor see(const std::string& what, at::Tensor tensor) const {
    if (observed != nullptr) observed->see(what, tensor, where);
    return tensor;
  }
};

// "blocks.3.feed_forward.w1.weight" → "fc1 output".
std::string product_of(const std::string& weight) {
  const auto is = [&](const char* name) { return weight.find(name) != std::string::npos; };
  if (is("attention.q.")) return "q";
  if (is("attention.k.")) return "k";
  if (is("attention.v.")) return "v";
  if (is("attention.o.")) return "attention projection output";
  if (is("feed_forward.w1.")) return "fc1 output";
  if (is("feed_forward.w2.")) return "fc2 output";
  if (is("feed_forward.w3.")) return "fc3 output";
  return "logits";
}

void observe_products(Ops& ops, const std::shared_ptr<Trace>& trace) {
  ops.qkv = [trace, call = ops.qkv](const at::Tensor& x, const Qkv& weights) {
    const Qkv out = call(x, weights);
    return Qkv{trace->see("q", out.q), trace->see("k", out.k), trace->see("v", out.v)};
  };
  ops.gate_up = [trace, call = ops.gate_up](const at::Tensor& x, const GateUp& weights) {
    const GateUp out = call(x, weights);
    return GateUp{trace->see("fc1 output", out.gate), trace->see("fc3 output", out.up)};
  };
  ops.linear = [trace, call = ops.linear](const at::Tensor& x, const at::Tensor& weight) {
    const auto product = trace->products.find(weight.unsafeGetTensorImpl());
    return trace->see(product == trace->products.end() ? "other products" : product->second,
                      call(x, weight));
  };
}

void observe_rest(Ops& ops, const std::shared_ptr<Trace>& trace) {
  ops.embedding = [trace, call = ops.embedding](const at::Tensor& tokens, const at::Tensor& table) {
    return trace->see("embedding output", call(tokens, table));
  };
  ops.norm = [trace, call = ops.norm](const NormInputs& in) {
    return trace->see("norm output", call(in));
  };
  ops.add_norm = [trace, call = ops.add_norm](at::Tensor residual, NormInputs in) {
    auto [sum, normed] = call(std::move(residual), std::move(in));
    trace->see("residual stream", sum);
    return std::pair(sum, trace->see("norm output", normed));
  };
  ops.rope = [trace, call = ops.rope](const at::Tensor& x, const at::Tensor& cos,
                                      const at::Tensor& sin) {
    return trace->see("q and k after RoPE", call(x, cos, sin));
  };
  ops.attention = [trace, call = ops.attention](const AttentionInputs& in) {
    return trace->see("attention output", call(in));
  };
  ops.swiglu = [trace, call = ops.swiglu](const at::Tensor& gate, const at::Tensor& up) {
    return trace->see("SwiGLU output", call(gate, up));
  };
  ops.gelu = [trace, call = ops.gelu](const at::Tensor& x) {
    return trace->see("GELU output", call(x));
  };
  ops.optimizer = [trace, call = ops.optimizer](const OptimizerInputs& in) {
    if (trace->observed != nullptr) see_optimizer(*trace->observed, in);
    call(in);
  };
}

Ops observed_ops(Ops ops, const std::shared_ptr<Trace>& trace) {
  model::complete(ops);
  observe_products(ops, trace);
  observe_rest(ops, trace);
  return ops;
}

class TracedTransformer final : public Network {
 public:
  TracedTransformer(const CaseContext& context, const model::ModelConfig& config,
                    std::int64_t batch, std::int64_t seq_len)
      : device_(context.device),
        policy_(context.precision),
        ops_(observed_ops(context.ops, trace_)),
        tokens_(model::random_tokens({batch, seq_len}, config.vocab_size, device_, context.seed)),
        targets_(
            model::random_tokens({batch, seq_len}, config.vocab_size, device_, context.seed + 1)),
        model_(config, ops_, device_, policy_.parameters, context.seed),
        state_(model_.parameter_tensors(), policy_) {
    for (const NamedTensor& parameter : model_.parameters()) {
      trace_->products[parameter.tensor.unsafeGetTensorImpl()] = product_of(parameter.name);
    }
  }

  ObservedDtypes step() override {
    ObservedDtypes observed;
    trace_->observed = &observed;
    state_.clear_gradients();
    observed.see("parameters", model_.parameter_tensors(), stored);
    const at::Tensor logits = forward();
    trace_->where = taken(policy_, /*inside=*/false);
    if (policy_.autocast) trace_->see("loss outside autocast", model_.loss(logits, targets_));
    trace_->where = "in the backward";
    state_.backward(loss_);
    for (const at::Tensor& parameter : model_.parameter_tensors()) {
      trace_->see("gradients", parameter.grad());
    }
    state_.step(ops_);
    trace_->observed = nullptr;
    return observed;
  }

 private:
  at::Tensor forward() {
    const model::Autocast autocast(device_, policy_.autocast);
    trace_->where = taken(policy_, /*inside=*/true);
    const at::Tensor logits = model_.forward(tokens_);
    loss_ = trace_->see("loss", model_.loss(logits, targets_));
    return logits;
  }

  std::shared_ptr<Trace> trace_ = std::make_shared<Trace>();
  at::Device device_;
  PrecisionPolicy policy_;
  Ops ops_;
  at::Tensor tokens_;
  at::Tensor targets_;
  model::Transformer model_;
  training::TrainingState state_;
  at::Tensor loss_;
};

}  // namespace

std::unique_ptr<Network> make_transformer(const CaseContext& context,
                                          const model::ModelConfig& config, std::int64_t batch,
                                          std::int64_t seq_len) {
  return std::make_unique<TracedTransformer>(context, config, batch, seq_len);
}

}  // namespace assay::dtype_trace
