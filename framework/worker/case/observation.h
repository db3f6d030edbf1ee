#pragma once

#include <assay/observer.h>

#include <functional>
#include <string>

#include "worker/compose/case_caches.h"
#include "worker/compose/composition.h"
#include "worker/record/recorder.h"

namespace assay::worker {

struct PassToObserve {
  const std::string& pass;
  const std::string& clock;  // measure.clock
  int steps;                 // measure.observed_steps
  // The timed program; null for a fresh one.
  const Composition* composition;
  ProgramBoundary* program;
  std::function<AnotherProgram()> build_another;
  const CaseContext& context;
  CaseRecorder& recorder;              // begun for the pass and the observer's metrics
  std::function<void(double s)> took;  // time of each observed step
};

// Lets the observer look at the pass. All ranks call it together. ok, or why it could not.
Status observe_pass(ObserverBoundary& observer, const PassToObserve& what);

// Where an observed step is timed: "wall" for that clock, else "cuda_event".
std::string observed_clock(const std::string& clock);

}  // namespace assay::worker
