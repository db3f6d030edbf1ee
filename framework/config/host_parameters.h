#pragma once

#include <assay/parameter.h>

#include <string_view>
#include <vector>

namespace assay::config {

inline constexpr std::string_view interleave_setting = "measure.interleave";
// In a case: the observers' names, sorted and joined by ", ".
inline constexpr std::string_view observe_setting = "observe";

// The parameters of every workload. "auto" is resolved when a case runs.
const std::vector<ParameterInfo>& host_parameters();

// measure.artefact_limit, unless a case sets it.
inline constexpr std::int64_t artefact_limit_bytes = std::int64_t{256} << 20;

// The unit of a real parameter that also takes a percentage: "5 %" for 0.05.
inline constexpr std::string_view share_unit = "share";

// nullptr for an unknown name.
const ParameterInfo* find_host_parameter(std::string_view name);

}  // namespace assay::config
