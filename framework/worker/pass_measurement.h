#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/records.h"
#include "worker/composition.h"
#include "worker/memory_floor.h"

namespace assay::worker {

// What measuring one pass gave.
struct PassReport {
  std::vector<store::Series> series;  // time, first_call_time, memory, counts; without a rank
  nlohmann::json timing;              // how the time was taken: docs/measuring.md
};

// Measures one pass of a program that has been built: warm-up, samples, then one more call under
// the allocator's eyes, and the program's counts. All ranks call it together. Throws what the
// plugins throw, as PluginFailure.
PassReport measure_pass(const Composition& composition, ProgramBoundary& program,
                        const std::string& pass, const store::Parameters& parameters,
                        MemoryFloor& floor);

}  // namespace assay::worker
