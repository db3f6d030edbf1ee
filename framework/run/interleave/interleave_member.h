#pragma once

#include <vector>

#include "run/cases/resolve.h"
#include "run/interleave/interleave_engine.h"
#include "run/workers/worker_pool.h"

namespace assay::run {

// Outlives the members.
struct InterleaveResources {
  WorkerPool& pool;
  Interrupt& interrupt;
  ActivityListener listener;
};

// Makes a member for each case of a group, none of which is skipped: on workers, or in the program
// of an external variant. Several members take turns; a single one does not, and may be measured
// pass by pass. Ends idle workers that the cases cannot use, for their memory.
InterleaveMembers make_interleave_members(const std::vector<const ResolvedCase*>& cases,
                                          const InterleaveResources& resources);

}  // namespace assay::run
