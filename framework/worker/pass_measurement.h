#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/records.h"
#include "worker/composition.h"

namespace assay::worker {

// What measuring one pass gave.
struct PassReport {
  std::vector<store::Series> series;  // time, first_call_time, memory, counts; without a rank
  nlohmann::json timing;              // how the time was taken: docs/measuring.md
};

// Waits, ahead of a reading, for the turn of a case that others take turns with. True where others
// were measured since its last reading.
using OwnTurn =
    std::function<bool(const std::string& pass, std::int64_t taken, std::int64_t planned)>;

// Measures one pass of a program that has been built: warm-up, samples, then one more call under
// the allocator's eyes, and the program's counts. All ranks call it together. An empty `own_turn`
// is that of a case measured on its own. Throws what the plugins throw, as PluginFailure, and what
// own_turn throws.
PassReport measure_pass(const Composition& composition, ProgramBoundary& program,
                        const std::string& pass, const store::Parameters& parameters,
                        const OwnTurn& own_turn);

}  // namespace assay::worker
