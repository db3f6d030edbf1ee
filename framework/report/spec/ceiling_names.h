#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

// Units of the rates that have ceilings.
inline constexpr std::string_view ceiling_units[] = {"FLOP/s", "byte/s"};

// Of matrix products there is one ceiling a precision, matmul_<dtype>; of collectives one each.
inline constexpr std::string_view ceiling_dtypes[] = {"fp64", "fp32", "tf32", "bf16", "fp16"};
inline constexpr std::string_view ceiling_collectives[] = {"all_reduce", "all_gather",
                                                           "reduce_scatter", "broadcast"};

// What `share_of` of a rate in this base unit (FLOP/s, byte/s) may say: `auto`, `matmul` and names
// of ceilings. Empty where there is none for the unit.
std::vector<std::string> ceiling_names(std::string_view unit);

}  // namespace assay::report
