#pragma once

#include <assay/metric.h>
#include <assay/record.h>

#include <vector>

#include "profile.h"

namespace assay::kernels {

std::vector<MetricInfo> profile_metrics();

// The profile as series by part. Of more kernels, operators and stacks than a table can show the
// rest is a row "(others)".
void record(const Profile& profile, Recorder& recorder);

}  // namespace assay::kernels
