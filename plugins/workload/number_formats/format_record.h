#pragma once

#include <assay/metric.h>
#include <assay/record.h>

#include "number_format.h"

namespace assay {

// The metrics of a format's properties, and one format's values under a part.
std::vector<MetricInfo> format_metrics();
void record_format(Recorder& recorder, const std::string& part, const NumberFormat& format);

}  // namespace assay
