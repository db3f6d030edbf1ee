#pragma once

#include "model_program.h"

namespace assay::model_step {

// Runs the case's composition, without communication, on a model of two layers and at most 512 wide
// (256 on a CPU) with the case's head size. Compares with a float64 textbook model: logits, loss
// and gradients of one call, and for "train_step" the loss's fall over five.
Verification verify_model(const CaseContext& context, const model::ModelConfig& config,
                          const Shape& shape, const std::string& pass);

// Verifies another program's model of the case's architecture, head size and at least two layers
// (exchanged_model.h): "logits" of an inference; otherwise "loss" and the gradients, or for a train
// step the "losses" of five consecutive steps and the first one's gradients. Throws
// std::invalid_argument where a tensor is missing or does not fit.
Verification verify_exchanged_model(const CaseContext& context, const model::ModelConfig& config,
                                    const std::string& pass, const Exchange& exchange);

// Whether the case's communication variant sends gradients to other ranks.
bool gradients_travel(const CaseContext& context);
// The case with textbook operations in float64, without its variants.
CaseContext reference_context(const CaseContext& context, bool norm_has_bias);

}  // namespace assay::model_step
