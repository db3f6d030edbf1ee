#pragma once

#include <vector>

#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

// What stored results, and the texts of their experiments, let a spec name. Values of `rank` and
// `part` are known only where every result is ok and no run had overrides: a failed result has none
// of its own, and one that was left out may have had others. Where they are not known any value is
// accepted.
Vocabulary vocabulary_of(const Records& records, const std::vector<Source>& sources,
                         const std::vector<MetricInfo>& metrics);

}  // namespace assay::report
