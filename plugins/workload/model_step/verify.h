#pragma once

#include "model_program.h"

namespace assay::model_step {

// Runs the case's own composition on a copy of the model with two layers and at most 512 wide (256
// on a CPU), with its head size kept, and compares with a float64 textbook model: logits, loss and
// gradients of one call, and for "train_step" how the loss falls over five. Without communication.
Verification verify_model(const CaseContext& context, const model::ModelConfig& config,
                          const Shape& shape, const std::string& pass);

// The same for what another program exchanged of a model of its own making, of the case's
// architecture, head size and at least two layers (exchanged_model.h): "logits" of an inference;
// otherwise "loss" and the gradients, or, of a train step, the "losses" of five in a row and the
// first one's gradients. Throws std::invalid_argument where a tensor is missing or does not fit.
Verification verify_exchanged_model(const CaseContext& context, const model::ModelConfig& config,
                                    const std::string& pass, const Exchange& exchange);

}  // namespace assay::model_step
