#pragma once

#include <assay/metric.h>
#include <assay/record.h>

#include "figures.h"

namespace assay::memory {

std::vector<MetricInfo> memory_metrics();

// The series of a history and its largest allocations.
void record(const History& history, const std::vector<Allocation>& largest, Recorder& recorder);

}  // namespace assay::memory
