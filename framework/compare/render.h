#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "compare/compare.h"

namespace assay::compare {

// Both render the differences between the sides, the table, the number of results with each
// verdict, the reasons, and the cautions. Columns of the table are the parameters in which cases
// differ, then pass, part, medians, ratio, interval and verdict.
std::string to_terminal(const Comparison& comparison);
std::string to_markdown(const Comparison& comparison);

// "attention flash, forward; attention naive, forward; and 3 more".
std::string row_names(const Comparison& comparison, const std::vector<std::size_t>& places);

// Medians are in base units; NaN is null. docs/results.md describes the fields.
nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace assay::compare
