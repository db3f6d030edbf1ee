#pragma once

#include <set>
#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::report {

// How the times of a run were taken, where that is not what the settings alone say: passes of which
// several calls were read together, passes that stayed too short for their clock or that it may
// show over 1 % wrong, and how sampling to a target ended. Short sentences; none where the cases
// hold nothing of it.
std::vector<std::string> sampling_facts(const store::Run& run);

// Settings that say nothing in this run: without a target those that limit it, with one the fixed
// number of samples. Their full names.
std::set<std::string> idle_settings(const store::Run& run);

}  // namespace assay::report
