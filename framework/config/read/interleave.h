#pragma once

#include "config/read/request.h"
#include "config/vocabulary.h"

namespace assay::config {

// What `measure.interleave` is set to, wherever it is set, must be a name that cases can differ in,
// and nothing beside it may ask for `measure.unhealthy: retry`.
void check_interleave(const Request& request, const Vocabulary& vocabulary,
                      Diagnostics& diagnostics);

}  // namespace assay::config
