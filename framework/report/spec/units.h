#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/records/units.h"

namespace assay::report {

// The unit of a stored series. A metric may come with a unit nobody listed ("token/step"): it is
// its own base, of size one.
store::Unit unit_of_data(std::string_view name);

// One rounding at most, and none for what was written in `to` with up to 15 digits, or came as a
// 32-bit float in `to`, as device clocks count milliseconds.
double convert(double value, std::string_view from, std::string_view to);

// Whether a value in `from` can be shown in `to`.
bool same_dimension(std::string_view from, std::string_view to);

// Units that can be asked for where a metric is measured in `unit`.
std::vector<std::string> units_for(std::string_view unit);

// The unit in which a magnitude given in `base_unit` reads best: below 1000 (1024 for bytes).
std::string sensible_unit(double magnitude, std::string_view base_unit);

}  // namespace assay::report
