#pragma once

#include <assay/parameter.h>

#include <string_view>
#include <vector>

namespace assay::config {

// The setting that names the axis whose cases are measured in turns.
inline constexpr std::string_view interleave_setting = "measure.interleave";

// What every experiment may name whatever its workload: where and how often a case runs, and the
// measuring settings ("measure.warmup", …). A value of "auto" is resolved when the case runs.
const std::vector<ParameterInfo>& host_parameters();

// The unit of a real parameter that may also be written as a percentage: "5 %" for 0.05.
inline constexpr std::string_view share_unit = "share";

// nullptr where the host has none of that name.
const ParameterInfo* find_host_parameter(std::string_view name);

}  // namespace assay::config
