#pragma once

#include <assay/communication.h>
#include <assay/precision.h>

#include "model/transformer.h"

namespace assay::training {

// The transformer's parameters as a communication variant sees them. Blocks: "embedding" (with the
// positions), "blocks.<i>", "head" (with the final norm, and the embedding where they are tied).
// Under autocast the matrices that are only multiplied may be given in its dtype.
TrainedModel trained_model(const model::Transformer& model, const PrecisionPolicy& policy);

}  // namespace assay::training
