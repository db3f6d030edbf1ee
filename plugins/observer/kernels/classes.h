#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "events.h"

namespace assay::kernels {

// In the order of the tables; "unclassified" last.
const std::vector<std::string>& classes();

// What an operator computes: "gemm" for aten::mm. Nothing for one that only calls others, or that
// nobody knows.
std::optional<std::string_view> class_of_operator(std::string_view name);

// By words of a kernel's name, for kernels without a known operator.
std::optional<std::string_view> class_of_kernel(std::string_view name, DeviceEvent::Kind kind);

// Whether an operator of that class communicates.
bool communicates(std::string_view class_name);

// Of matrix products from their shapes, 2 FLOP a multiplication and addition; of softmax 5 an
// element (maximum, subtraction, exponential, sum, division), its gradient 4; of elementwise
// arithmetic 1 an element. 0: not counted, such as fused attention, whose shapes do not say it all.
double flops_of(std::string_view name, const std::vector<std::vector<std::int64_t>>& shapes);

// The kernel's name without template arguments, parameters, namespaces and tile sizes:
// "ampere_sgemm_128x64_tn" is one of ampere_sgemm.
std::string family_of(std::string_view kernel);

}  // namespace assay::kernels
