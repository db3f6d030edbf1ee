#pragma once

#include <string>

#include "base/error.h"
#include "run/node/engine.h"
#include "run/process/installation.h"

namespace assay::run {

// Where an agent finds its host.
struct HostPlace {
  std::string control;  // "address:port,…"
  std::string token;
};

// Serves as the agent of one rank until the host closes the connection or is gone, then ends all
// that it has started. Waits for a host that is not there yet as long as for loading
// (run/process/loading.h). Errors: the host cannot be reached, this process cannot tell its place.
Result<void> serve_agent(const Installation& installation, const EnginePlace& place,
                         const HostPlace& host);

}  // namespace assay::run
