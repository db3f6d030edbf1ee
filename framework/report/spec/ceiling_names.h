#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

inline constexpr std::string_view ceiling_units[] = {"FLOP/s", "byte/s"};

// Ceilings of matrix products are called matmul_<dtype>, those of collectives like the collective.
inline constexpr std::string_view ceiling_dtypes[] = {"fp64", "fp32", "tf32", "bf16", "fp16"};
inline constexpr std::string_view ceiling_collectives[] = {"all_reduce", "all_gather",
                                                           "reduce_scatter", "broadcast"};

// The words of `share_of` for a rate in this base unit: `auto`, `matmul` and names of ceilings.
// Empty for units without ceilings.
std::vector<std::string> ceiling_names(std::string_view unit);

}  // namespace assay::report
