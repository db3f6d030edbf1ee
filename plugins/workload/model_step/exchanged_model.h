#pragma once

#include "model_program.h"

namespace assay::model_step {

// The model that another program's tensors describe, and the batch it was given.
struct ExchangedModel {
  model::ModelConfig config;
  Shape shape;
  std::vector<NamedTensor> parameters;  // in the order of model::parameter_shapes()
  at::Tensor tokens;                    // [batch, seq_len] int64
  at::Tensor targets;                   // like tokens
};

// inputs: "tokens", "targets" and every parameter under its name in model::parameter_shapes(),
// fp32. Width, feed-forward width, vocabulary and layers are theirs; architecture and head size
// must be `config`'s, the norm that of `ops` where the case names one, and two layers at least
// unless the config has fewer. Throws std::invalid_argument for a tensor that is missing or has
// another shape.
ExchangedModel exchanged_model(const model::ModelConfig& config, const Ops& ops,
                               const std::vector<NamedTensor>& inputs);

// Throws std::invalid_argument unless the tensor is there, has these sizes and a floating-point
// dtype.
void require(const std::vector<NamedTensor>& tensors, const std::string& name,
             at::IntArrayRef sizes);

}  // namespace assay::model_step
