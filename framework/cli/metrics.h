#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "config/experiment.h"

namespace assay::cli {

// What results of the workload may have: the metrics every workload reports, and its own. Only the
// former where the catalogue does not have it.
std::vector<MetricInfo> metrics_of(const catalogue::Catalogue& catalogue,
                                   std::string_view workload);

// The same of all workloads together; of a name that several use, the first.
std::vector<MetricInfo> metrics_of_all(const catalogue::Catalogue& catalogue);

// The passes that an experiment's text names, or its workload's usual ones where it names none: a
// run of it may have been narrowed to some of them.
std::vector<std::string> passes_of(const catalogue::Catalogue& catalogue,
                                   const config::Written& written);

}  // namespace assay::cli
