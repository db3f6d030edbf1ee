#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "config/experiment.h"

namespace assay::cli {

// The metrics that every workload reports, the workload's own, where the catalogue has it, and
// those of the observers; the first of a name counts.
std::vector<MetricInfo> metrics_of(const catalogue::Catalogue& catalogue, std::string_view workload,
                                   const std::vector<std::string>& observers);

// The observers that some case of the plan asks for.
std::vector<std::string> observers_of(const config::Plan& plan);
std::vector<std::string> all_observers(const catalogue::Catalogue& catalogue);

// The metrics of all workloads and observers; the first of a name counts.
std::vector<MetricInfo> metrics_of_all(const catalogue::Catalogue& catalogue);

// The passes that an experiment's text names, else its workload's default ones. A run may have been
// narrowed to some of them.
std::vector<std::string> passes_of(const catalogue::Catalogue& catalogue,
                                   const config::Written& written);

}  // namespace assay::cli
