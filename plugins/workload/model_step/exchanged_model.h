#pragma once

#include "model_program.h"

namespace assay::model_step {

// The model described by another program's tensors, and its batch.
struct ExchangedModel {
  model::ModelConfig config;
  Shape shape;
  std::vector<NamedTensor> parameters;  // in the order of model::parameter_shapes()
  at::Tensor tokens;                    // [batch, seq_len] int64
  at::Tensor targets;                   // like tokens
};

// inputs: "tokens", "targets" and every parameter of model::parameter_shapes(), fp32, by name. They
// determine width, feed-forward width, vocabulary and layers (at least two, unless `config` has
// fewer). Architecture and head size must be those of `config`, the norm that of `ops` where the
// case names one. Throws std::invalid_argument for a tensor that is missing or has another shape.
ExchangedModel exchanged_model(const model::ModelConfig& config, const Ops& ops,
                               const std::vector<NamedTensor>& inputs);

// Throws std::invalid_argument unless the tensor exists with these sizes and a floating-point
// dtype.
void require(const std::vector<NamedTensor>& tensors, const std::string& name,
             at::IntArrayRef sizes);

}  // namespace assay::model_step
