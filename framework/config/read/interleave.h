#pragma once

#include "config/read/request.h"
#include "config/vocabulary.h"

namespace assay::config {

// Refuses an impossible axis in `measure.interleave`, and `measure.unhealthy: retry` beside it.
void check_interleave(const Request& request, const Vocabulary& vocabulary,
                      Diagnostics& diagnostics);

}  // namespace assay::config
