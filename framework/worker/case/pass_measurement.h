#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/freed_memory.h"
#include "store/records/records.h"
#include "worker/case/case_caches.h"
#include "worker/case/composition.h"
#include "worker/case/memory_floor.h"

namespace assay::worker {

// Waits, ahead of a reading, for the turn of a case that others take turns with. True where others
// were measured since its last reading.
using OwnTurn =
    std::function<bool(const std::string& pass, std::int64_t taken, std::int64_t planned)>;

struct PassToMeasure {
  const Composition& composition;
  ProgramBoundary& program;  // built from it
  ProgramBytes bytes;
  const std::string& pass;
  const store::Parameters& parameters;
  CaseCaches& caches;
  std::function<AnotherProgram()> build_another;
  double tolerance;  // how far two calls may be apart, relative to their norm
  MemoryFloor& memory_floor;
  measure::FreedMemory& freed;
  const OwnTurn& own_turn;  // empty: the case is measured on its own
  // What the first call took; nothing where no call has been made yet, so that the first sample is
  // one.
  std::optional<double> first_call_s;
};

// What measuring one pass gave.
struct PassReport {
  std::vector<store::Series> series;  // time, first_call_time, memory, counts; without a rank
  store::SamplingFacts timing;        // how the time was taken: docs/measuring.md
  Status outputs;                     // `wrong` where the timed calls left what they must not
  store::RepeatedOutputs output_facts;
};

// Seconds that the first call of a pass takes, to the end of its work on the device: what the
// case's compile variant prepares and captures, the call itself, kernels that are loaded and
// algorithms that are chosen on the way; where the clock captures the call, that as well. What runs
// ahead of a call (a backward's forward) and what the clock finds out about itself are left out.
// True only where nothing has called the pass before. All ranks call it together. Throws as
// measure_pass().
double take_first_call(const Composition& composition, ProgramBoundary& program,
                       const std::string& pass, const store::Parameters& parameters);

// Measures one pass of a program that has been built: warm-up, samples, then one more call under
// the allocator's eyes, and the program's counts. What the first warm-up call, the last timed call
// and one more left behind is compared. All ranks call it together. Throws what the plugins throw,
// as PluginFailure, and Unsupported where the pass cannot be timed as asked.
PassReport measure_pass(const PassToMeasure& what);

}  // namespace assay::worker
