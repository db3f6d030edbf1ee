#pragma once

#include <vector>

#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

// Names that a spec may use, from results and the texts of their experiments. After a failure or an
// override any `rank` and `part` is accepted: the missing results could have had others.
Vocabulary vocabulary_of(const Records& records, const std::vector<Source>& sources,
                         const std::vector<MetricInfo>& metrics);

}  // namespace assay::report
