#pragma once

#include <vector>

#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

// The report of an experiment without a report spec: a table (rows: the axes that vary; columns:
// peak memory and each pass' time, as mean ± standard deviation, or as median ± the distance to the
// farther end of its 95 % interval if every case had a target), a plot if a numeric axis varies,
// and all findings.
ReportSpec default_spec(const Records& records);

// The unit in which the metric's median over all records reads well.
std::string fitting_unit(const Records& records, const std::string& metric);

}  // namespace assay::report
