#pragma once

#include <vector>

#include "base/error.h"
#include "report/data/records.h"
#include "report/data/select.h"
#include "report/spec/spec.h"

namespace assay::report {

// The spec's columns with each pivot spread into one column for every combination of its axes that
// has a result. Pivoted columns come after the axes the rows begin with and before the spelled
// ones.
Result<std::vector<Column>> spread_pivots(const Records& records, const RecordIds& candidates,
                                          const GridSpec& spec);

// Every combination of values of `axes` among the results (of one metric, where it is named), as a
// filter each, in the order of the values; without axes one filter that keeps everything.
Result<std::vector<Filter>> combinations(const Records& records,
                                         const std::vector<std::string>& axes, const Filter& where,
                                         const std::string& metric = {});

}  // namespace assay::report
