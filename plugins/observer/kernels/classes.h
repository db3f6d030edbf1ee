#pragma once

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

}  // namespace assay::kernels
