#pragma once

// worker/case runs one case: builds it, verifies it, has its passes measured and observed. It
// depends on worker/pass. Start here.

#include <functional>

#include "wire/messages.h"
#include "worker/pass/pass_measurement.h"
#include "worker/process/plugin_loader.h"
#include "worker/process/process_group.h"
#include "worker/process/state_watch.h"

namespace assay::worker {

struct CaseSink {
  std::function<void(const std::string& doing)> progress;
  std::function<void(store::Series series)> measured;
  store::CaseFacts& facts;
  std::vector<store::Artefact>& artefacts;
  AwaitTurn await_turn;  // empty unless the case is interleaved
};

// Runs one case on this rank: compose, first calls, verify, build, then each pass: warm-up,
// samples, memory. A failed pass gets a `time` series with its outcome. The next pass still runs,
// unless other ranks would be left waiting. Throws nothing.
Status run_case(const SharedCode& shared, PluginLoader& loader, ProcessGroups& groups,
                const Placement& placement, const wire::CaseRequest& request, const CaseSink& sink);

}  // namespace assay::worker
