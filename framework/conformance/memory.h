#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "conformance/check.h"

namespace assay::conformance {

// Calls leave no memory allocated. What the first calls keep, such as a mask, is allowed.
CheckVerdict frees_memory(const at::Device& device, const std::function<void()>& call);

}  // namespace assay::conformance
