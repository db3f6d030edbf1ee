#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace assay::kernels {

// Of matrix products from their shapes, 2 FLOP a multiplication and addition; of softmax 5 an
// element (maximum, subtraction, exponential, sum, division), its gradient 4; of elementwise
// arithmetic 1 an element. 0: not counted, such as fused attention, whose shapes do not say it all.
double flops_of(std::string_view name, const std::vector<std::vector<std::int64_t>>& shapes);

}  // namespace assay::kernels
