#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/records.h"
#include "worker/case_caches.h"
#include "worker/composition.h"
#include "worker/memory_floor.h"

namespace assay::worker {

// Waits, ahead of a reading, for the turn of a case that others take turns with. True where others
// were measured since its last reading.
using OwnTurn =
    std::function<bool(const std::string& pass, std::int64_t taken, std::int64_t planned)>;

struct PassToMeasure {
  const Composition& composition;
  ProgramBoundary& program;    // built from it
  std::int64_t program_bytes;  // what building it left allocated
  const std::string& pass;
  const store::Parameters& parameters;
  CaseCaches& caches;
  std::function<AnotherProgram()> build_another;
  double tolerance;  // how far two calls may be apart, relative to their norm
  MemoryFloor& memory_floor;
  const OwnTurn& own_turn;  // empty: the case is measured on its own
};

// What measuring one pass gave.
struct PassReport {
  std::vector<store::Series> series;  // time, first_call_time, memory, counts; without a rank
  nlohmann::json timing;              // how the time was taken: docs/measuring.md
  Status outputs;                     // `wrong` where the timed calls left what they must not
  nlohmann::json output_facts;
};

// Measures one pass of a program that has been built: warm-up, samples, then one more call under
// the allocator's eyes, and the program's counts. What the first warm-up call, the last timed call
// and one more left behind is compared. All ranks call it together. Throws what the plugins throw,
// as PluginFailure, and Unsupported where the pass cannot be timed as asked.
PassReport measure_pass(const PassToMeasure& what);

}  // namespace assay::worker
