#pragma once

#include "accounting/quantity.h"
#include "model/model_config.h"

namespace assay::accounting {

// swiglu and gelu: the models of model_step. ffn: blocks of two linear layers and nothing else, no
// activation function, as large models are simplified where only their orders of magnitude count.
enum class Family { swiglu, gelu, ffn };

struct Model {
  Family family = Family::swiglu;
  double d = 0;       // width of the residual stream
  double f = 0;       // width inside the feed-forward
  double layers = 0;  // blocks
  double heads = 0;
  double d_kv = 0;  // width of k and v
  double vocab = 0;
  double context = 0;  // rows of the position table (gelu)
  bool norm_has_bias = false;
};

// Throws std::invalid_argument as model::model_config does.
Model counted_model(const Options& fields, const std::string& architecture, std::int64_t context);
Model counted_model(const model::ModelConfig& config);

struct Batch {
  double sequences = 0;
  double seq_len = 0;
  double tokens() const { return sequences * seq_len; }
};

// "embedding", "positions", "attention", "feed-forward", "norms", "head", as far as the model has
// them, and "parameters", their sum; in "count". Names: V vocab, d, f, k d_kv, L layers, S context,
// n vectors of a norm (2 with a bias).
Quantities parameters_by_part(const Model& model);

// FLOPs of the matrix products of one forward, a multiply-add counted as two: "projections" (q, k,
// v, o), "scores" (QKᵀ) and "values" (PV) over whole S × S matrices as plain attention computes
// them, "feed-forward", "head", and "forward", their sum. "forward, causal" counts only the
// S(S+1)/2 pairs that a causal mask lets pass. "backward" and "step" are two and three forwards.
Quantities flops_by_part(const Model& model, const Batch& batch);

// Training state in fp32: "weights", "gradients", "moments" (two of AdamW), "state", their sum.
Quantities training_state(double parameters);

// Mixed precision beside it, in bf16: "bf16 weights", "bf16 gradients", and "less than in fp32",
// what the two save against fp32.
Quantities bf16_copies(double parameters);

// Devices that hold so many bytes: ceil(bytes / memory).
Quantity devices_for(double bytes, double memory);

}  // namespace assay::accounting
