#pragma once

#include "config/read/diagnostics.h"
#include "config/read/request.h"
#include "config/vocabulary.h"

namespace assay::config {

// Refuses observers that are not in the catalogue.
void check_observers(const Request& request, const catalogue::Catalogue& catalogue,
                     Diagnostics& diagnostics);

}  // namespace assay::config
