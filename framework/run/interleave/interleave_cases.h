#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/cases/resolve.h"
#include "run/interleave/interleave_passes.h"
#include "run/workers/worker_pool.h"

namespace assay::run {

// One of several cases that are measured in turns.
struct InTurns {
  const ResolvedCase* resolved = nullptr;
  std::string key;   // of the case
  std::string name;  // among the others, "attention=flash"
};

struct TurnObserver {
  std::function<bool()> stop;  // nothing more is to be measured
  // Member `index` is what is worked on from now on: it begins.
  std::function<void(std::size_t index)> begins;
  std::function<void(const std::string& what)> doing;
  // It has ended, having worked for so long; `interrupted` is never set. Its context says how the
  // turns went ("interleaved").
  std::function<void(std::size_t index, CaseEnd end, double worked_s)> ended;
};

// One that has to be measured alone.
struct Alone {
  std::size_t member = 0;
  std::string why;
};

// Measures the members in turns, each on workers of its own, as take_turns() says. Spare groups are
// used, and those that can take another case are spare again at the end. Returns the members that
// failed for the presence of the others, having run out of memory or not got at the GPU, which are
// not told of as ended. Where it is to stop, whoever has not ended by then is dropped.
std::vector<Alone> measure_in_turns(const std::vector<InTurns>& members, SpareGroups& spare,
                                    Interrupt& interrupt, const TurnObserver& observer);

}  // namespace assay::run
