#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "conformance/check.h"

namespace assay::conformance {

// Repeated calls leave no memory allocated. The first calls may keep some, such as a mask.
CheckVerdict frees_memory(const at::Device& device, const std::function<void()>& call);

}  // namespace assay::conformance
