#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "compare/compare.h"

namespace assay::compare {

// For a terminal and for a page: what differs between the sides, the table, how many results have
// each verdict, and the reasons of those that are inconclusive or not compared. Columns of the
// table are the parameters in which cases differ, then pass, part, medians, ratio, interval and
// verdict.
std::string to_terminal(const Comparison& comparison);
std::string to_markdown(const Comparison& comparison);

// "attention flash, forward; attention naive, forward; and 3 more".
std::string row_names(const Comparison& comparison, const std::vector<std::size_t>& places);

// For programs: medians in base units; what is not a number is null. docs/results.md describes it.
nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace assay::compare
