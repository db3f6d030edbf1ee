#pragma once

#include <vector>

#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

// The report of an experiment that does not say what it wants: one table (rows: the axes that vary;
// columns: each pass' time as mean ± standard deviation in the unit that fits it, or as median ±
// half of its 95 % interval where all cases had a target, and peak memory), one plot when a numeric
// axis varies, and every finding.
ReportSpec default_spec(const Records& records);

// Units in which the median size of a metric reads well.
std::string fitting_unit(const Records& records, const std::string& metric);

}  // namespace assay::report
