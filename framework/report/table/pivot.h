#pragma once

#include <vector>

#include "base/error.h"
#include "report/data/records.h"
#include "report/data/select.h"
#include "report/spec/spec.h"

namespace assay::report {

// The records that pass both filters.
Result<RecordIds> select_both(const Records& records, Filter where, const Filter& combination);

// The spec's columns, with a column for each combination of a pivot's axes that has a result. They
// follow the leading axis columns and precede the others.
Result<std::vector<Column>> spread_pivots(const Records& records, const RecordIds& candidates,
                                          const GridSpec& spec);

// A filter for each combination of values of `axes` that has a result (of the metric, unless
// empty), in the order of the values; without axes one filter that passes everything.
Result<std::vector<Filter>> combinations(const Records& records,
                                         const std::vector<std::string>& axes, const Filter& where,
                                         const std::string& metric = {});

// A title whose fields are axes of the combination.
std::string render_title(const Template& title, const Filter& combination);

}  // namespace assay::report
