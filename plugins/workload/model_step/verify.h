#pragma once

#include "model_program.h"

namespace assay::model_step {

// Runs the case's own composition on a copy of the model with two layers and at most 512 wide (256
// on a CPU), with its head size kept, and compares with a float64 textbook model: logits, loss and
// gradients of one call, and for "train_step" how the loss falls over five. Without communication.
Verification verify_model(const CaseContext& context, const model::ModelConfig& config,
                          const Shape& shape, const std::string& pass);

}  // namespace assay::model_step
