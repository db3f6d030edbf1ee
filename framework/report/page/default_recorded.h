#pragma once

#include <string>
#include <vector>

#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

// Passes that a case of the run planned, in which no case has a time: run once and recorded.
std::vector<std::string> untimed_passes(const store::Run& run);

// What the default report shows of the records of programs and observers; each is empty without.
std::vector<Block> phase_blocks(const Records& records);     // shares of the phases of each pass
std::vector<Block> recorded_blocks(const Records& records);  // what passes without a clock recorded
std::vector<Block> file_blocks(const Records& records);

bool has_metric(const Records& records, std::string_view metric);

}  // namespace assay::report
