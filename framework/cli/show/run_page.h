#pragma once

#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::cli {

// A table of these cases of a run: number, what varies between them, the median time of each pass
// and the outcome where one is not ok; below it the values that all of them share.
std::string case_table(const std::vector<const store::CaseResult*>& cases);

// The run's heading, machine and provenance, the chapters of a suite, and the table of its cases
// with a line for each reason of an outcome.
std::string run_page(const store::Run& run);

}  // namespace assay::cli
