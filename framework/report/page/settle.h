#pragma once

#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

// The statistic of a report's times: the first that a table or text names, else that of a plot,
// else the median, or the mean where some times (of imported figures) have no median.
Centre ruling_centre(const Records& records, const ReportSpec& spec);

// Gives every time of the report that names no statistic that of its own block, or of the report:
// tables, findings and plots then tell the same ratios. A block whose times differ says so.
void settle_statistics(const Records& records, ReportSpec& spec);

}  // namespace assay::report
