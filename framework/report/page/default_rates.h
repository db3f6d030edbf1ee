#pragma once

#include <vector>

#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

// Whether a pass has a time and counts operations or bytes.
bool counts_work(const Records& records);

// A table of what each pass achieves: FLOP/s and bytes/s, and their shares of the machine's
// ceilings where these are known. Empty without counts.
std::vector<Block> rate_blocks(const Records& records);

}  // namespace assay::report
