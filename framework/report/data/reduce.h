#pragma once

#include <optional>
#include <string_view>
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

// Of a case's series, the slowest rank of each iteration; nullopt where a rank failed or was
// discarded, or there is none.
std::optional<double> of_slowest_rank(const store::CaseResult& result, std::string_view pass,
                                      std::string_view metric, std::string_view part,
                                      Statistic statistic);

}  // namespace assay::report
