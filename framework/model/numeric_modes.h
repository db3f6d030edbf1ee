#pragma once

#include <assay/precision.h>
#include <c10/core/Device.h>

namespace assay::model {

// Allows or forbids TF32 in all matrix products and convolutions of the process. Throws Unsupported
// for TF32 on a CPU.
void set_numeric_modes(const PrecisionPolicy& policy, const at::Device& device);

}  // namespace assay::model
