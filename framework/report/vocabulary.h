#pragma once

#include <vector>

#include "report/records.h"
#include "report/spec.h"

namespace assay::report {

// What stored results let a spec name. Values of `rank` and `part` are known only where nothing
// failed or was left out: a failed result has none of its own.
Vocabulary vocabulary_of_records(const Records& records, const std::vector<MetricInfo>& metrics);

}  // namespace assay::report
