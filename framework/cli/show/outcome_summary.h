#pragma once

#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::cli {

// What became of the cases of stored runs, for the end of a command's output: how many had which
// outcome, and a line for each reason with the numbers of the cases it stopped. Reasons that differ
// in figures only are one. Of many reasons the first ten are shown, then how many more there are
// and the command that lists them. Ends with a newline; empty where there are no cases.
std::string outcome_summary(const std::vector<store::Run>& runs);

}  // namespace assay::cli
