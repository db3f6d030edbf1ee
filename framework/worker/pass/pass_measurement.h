#pragma once

// worker/pass measures one pass of a case: its programs, samples, looks, memory and phases. It
// depends on worker/looks, worker/record and timing. Start here.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/freed_memory.h"
#include "store/records/records.h"
#include "worker/compose/case_caches.h"
#include "worker/compose/composition.h"
#include "worker/looks/input_renewal.h"
#include "worker/pass/memory_floor.h"
#include "worker/process/state_watch.h"
#include "worker/record/recorder.h"

namespace assay::worker {

// Called ahead of a reading of an interleaved case; waits for the case's turn. True where other
// cases were measured since its last reading.
using AwaitTurn =
    std::function<bool(const std::string& pass, std::int64_t taken, std::int64_t planned)>;

struct PassToMeasure {
  const Composition& composition;
  ProgramBoundary& program;  // built from composition
  ProgramBytes bytes;
  const std::string& pass;
  const store::Parameters& parameters;
  CaseCaches& caches;
  std::function<AnotherProgram()> build_another;
  std::function<AnotherProgram()> build_plain;  // without the compile variant
  InputRenewal& renewal;                        // of the program's inputs
  Integrity integrity;
  std::uint64_t secret;  // of this case: chosen calls and contents depend on it
  double tolerance;      // largest relative distance of two calls' outputs
  MemoryFloor& memory_floor;
  measure::FreedMemory& freed;
  const StateWatch& state;
  const AwaitTurn& await_turn;  // empty unless the case is interleaved
  CaseRecorder& recorder;       // of spans; begun for the pass
  // Time of the first call; empty where the first sample is the first call.
  std::optional<double> first_call_s;
};

struct PassReport {
  std::vector<store::Series> series;  // time, first_call_time, memory, counts; without a rank
  store::SamplingFacts timing;        // how the time was taken: docs/measuring.md
  Status outputs;                     // `wrong` where the timed calls' outputs are
  store::RepeatedOutputs output_facts;
  store::TimedLooksFacts look_facts;
  Status traced;  // why the phases' memory and the spans are lacking
};

// The program's counts of the pass.
void add_counts(const std::string& pass, const Composition& composition, ProgramBoundary& program,
                std::vector<store::Series>& series);

// Seconds of a pass's first call, to the end of its work on the device. Included: the compile
// variant's preparation and capture, the call, loading kernels, choosing algorithms, and the
// clock's capture if it captures. Excluded: what runs ahead of a call (a backward's forward) and
// the clock's self-measurement. Valid only before any other call of the pass. All ranks call it
// together. Throws as measure_pass().
double take_first_call(const Composition& composition, ProgramBoundary& program,
                       const std::string& pass, const store::Parameters& parameters);

// Measures one pass of a built program: warm-up, samples, one more call for memory, and the
// program's counts. Looks at timed calls, and compares the outputs of the first warm-up call and of
// further ones behind the last timed call, for inputs as they were built. All ranks call it
// together. Throws PluginFailure where the plugins throw, and Unsupported where the pass cannot be
// timed as asked.
PassReport measure_pass(const PassToMeasure& what);

}  // namespace assay::worker
