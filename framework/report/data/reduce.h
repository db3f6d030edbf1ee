#pragma once

#include <optional>
#include <vector>

#include "report/spec/spec.h"
#include "store/records/records.h"

namespace assay::report {

// Iteration by iteration over ranks, each sample in its series' own unit: the slowest, the fastest,
// the mean; or all of them together. Iterations that not every rank has are left out.
std::vector<double> over_ranks(const std::vector<const store::Series*>& ranks, RankRule rule);

// One figure of one measurement, in its series' unit. Imported statistics are taken as they are;
// nullopt where neither they nor samples give the figure.
std::optional<double> reduce(const std::vector<const store::Series*>& ranks, RankRule rule,
                             Statistic statistic);
double reduce(const std::vector<double>& samples, Statistic statistic);

}  // namespace assay::report
