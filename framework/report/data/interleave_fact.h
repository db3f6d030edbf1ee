#pragma once

#include <string>

#include "store/records/records.h"

namespace assay::report {

// "12 cases in blocks of 5 samples; 2 apart (REASON)": how many cases were interleaved, and why
// others were not; "" where the run asked for none.
std::string interleave_fact(const store::Run& run);

}  // namespace assay::report
