#pragma once

#include <set>
#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::report {

// Short sentences about what the settings alone do not tell: passes timed in batches, passes too
// short for their clock or that it may show over 1 % wrong, launch gaps, and how sampling to a
// target ended.
std::vector<std::string> sampling_facts(const store::Run& run);

// Full names of settings without effect in this run: the limits of a target where there is none,
// the number of samples where there is one.
std::set<std::string> idle_settings(const store::Run& run);

}  // namespace assay::report
