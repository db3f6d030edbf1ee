#pragma once

// worker/case composes one case from plugins, verifies it and measures its passes. It depends on
// worker/process, reference and timing. Start here.

#include <c10/core/Device.h>

#include <functional>

#include "wire/messages.h"
#include "worker/case/pass_measurement.h"
#include "worker/process/plugin_loader.h"
#include "worker/process/process_group.h"

namespace assay::worker {

// Where a running case tells what it does and what it has measured.
struct CaseSink {
  std::function<void(const std::string& doing)> progress;
  std::function<void(store::Series series)> measured;
  store::CaseFacts& facts;
  OwnTurn own_turn;  // empty: the case is measured on its own
};

// The device this rank measures the case on. Throws Unsupported where there is none for it.
at::Device device_of(const store::Parameters& parameters, const Placement& placement);

// Runs one case on this rank: compose, first calls, verify, build, then each pass: warm-up,
// samples, memory. A pass that fails has a `time` series with its outcome; the next pass is tried
// all the same, unless there are other ranks, which must not be left waiting. Throws nothing.
Status run_case(PluginLoader& loader, ProcessGroups& groups, const Placement& placement,
                const wire::CaseRequest& request, const CaseSink& sink);

}  // namespace assay::worker
