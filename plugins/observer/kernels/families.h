#pragma once

#include <string>
#include <string_view>

namespace assay::kernels {

// The kernel's name without template arguments, parameters, namespaces and tile sizes:
// "ampere_sgemm_128x64_tn" is one of ampere_sgemm.
std::string family_of(std::string_view kernel);

}  // namespace assay::kernels
