#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "health/gpu_source.h"

namespace assay::run {

// How the parts of this machine hang together, as stored with it (docs/results.md). root: the
// folder of /proc and /sys; "" outside tests. Leaves out what the system does not tell.
nlohmann::json probe_topology(const health::GpuSource& gpus, const std::string& root = "");

}  // namespace assay::run
