#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/records/units.h"

namespace assay::report {

// The unit of a stored series. An unlisted unit ("token/step") is its own base, of size one.
store::Unit unit_of_data(std::string_view name);

// Rounds at most once, and restores a value that had up to 15 digits, or was a 32-bit float, in
// `to` (device clocks count milliseconds in floats).
double convert(double value, std::string_view from, std::string_view to);

bool same_dimension(std::string_view from, std::string_view to);

// The units that a metric measured in `unit` can be shown in.
std::vector<std::string> units_for(std::string_view unit);

// The largest usual unit in which a magnitude in `base_unit` is at least 1.
std::string sensible_unit(double magnitude, std::string_view base_unit);

}  // namespace assay::report
