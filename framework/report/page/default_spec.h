#pragma once

#include <vector>

#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

// The report of an experiment without a report spec: all findings; a table (rows: the axes that
// vary; columns: each pass' time and peak memory), of the rates of what its workload counts, and a
// plot a pass if a numeric axis varies. A time is the median ± the distance to the farther end of
// its 95 % interval, or the mean ± standard deviation where figures were imported without medians.
// Shares of ceilings need those of `records`.
ReportSpec default_spec(const Records& records);

// The unit in which the metric's median over all records, of one pass unless it is "", reads well.
std::string fitting_unit(const Records& records, const std::string& metric,
                         const std::string& pass = {});

// Of several sources: the column that says which.
void add_source_column(const Records& records, TableSpec& table);

}  // namespace assay::report
