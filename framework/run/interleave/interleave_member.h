#pragma once

#include <vector>

#include "run/cases/resolve.h"
#include "run/interleave/interleave_engine.h"
#include "run/workers/worker_pool.h"

namespace assay::run {

// What cases run on; outlives their members.
struct InterleaveResources {
  WorkerPool& pool;
  Interrupt& interrupt;
  Doing doing;  // told what is worked on
};

// A member for each case of a group, none of which is skipped: on workers, or in the program that
// an external variant names. Several take turns; a single one does not, and has each of its passes
// measured by itself where it asks for that. Idle workers that the cases have no use for are ended:
// they would hold memory.
InterleaveMembers make_interleave_members(const std::vector<const ResolvedCase*>& cases,
                                          const InterleaveResources& resources);

}  // namespace assay::run
