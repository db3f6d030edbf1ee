#pragma once

#include <optional>
#include <vector>

#include "report/spec/spec.h"
#include "store/records/records.h"

namespace assay::report {

// Combines ranks iteration by iteration, or pools their samples; in the series' unit. Drops
// iterations that a rank lacks.
std::vector<double> over_ranks(const std::vector<const store::Series*>& ranks, RankRule rule);

// One figure of one measurement, in the series' unit. Imported statistics come first; nullopt where
// neither they nor samples yield the figure.
std::optional<double> reduce(const std::vector<const store::Series*>& ranks, RankRule rule,
                             Statistic statistic);
double reduce(const std::vector<double>& samples, Statistic statistic);

}  // namespace assay::report
