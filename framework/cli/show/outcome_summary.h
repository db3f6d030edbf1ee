#pragma once

#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::cli {

// Counts the outcomes of stored runs' cases and lists each reason with the cases it stopped.
// Reasons that differ only in figures count as one; after ten, a line says how many more there are
// and which command lists them. Ends with a newline; empty where there are no cases.
std::string outcome_summary(const std::vector<store::Run>& runs);

}  // namespace assay::cli
