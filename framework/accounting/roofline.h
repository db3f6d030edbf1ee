#pragma once

#include "accounting/machine.h"
#include "accounting/saved.h"

namespace assay::accounting {

// The least time of a pass of model_step on one device, by the roofline of Williams et al. 2009:
// "products" FLOPs / peak, "memory traffic" of weights and saved tensors / bandwidth, "optimizer"
// (train_step: AdamW reads weight, gradient and moments, and writes all but the gradient: 28 bytes
// a parameter), and "roofline": the larger of the first two, and the optimizer after them.
//
// pass: as of peak_by_part, or "inference", which saves nothing.
Quantities roofline_time(const Model& model, const Batch& batch, const Computing& computing,
                         const Machine& machine, const std::string& precision,
                         const std::string& pass);

// Forwards that a pass's matrix products are worth: 1, 2 (backward) or 3.
double forwards_of(const std::string& pass);

}  // namespace assay::accounting
