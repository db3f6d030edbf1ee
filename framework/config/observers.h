#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::config {

// "kernels, memory", a case's `observe`, as names.
std::vector<std::string> observers_in(std::string_view setting);

}  // namespace assay::config
