#pragma once

#include "run/node/rank_process.h"
#include "run/workers/case_end.h"

namespace assay::run {

// Where the files of a case are.
struct LeftFiles {
  int case_number = 0;           // of the worker's cases
  std::string folder;            // of the case, on this machine
  std::int64_t limit_bytes = 0;  // of a rank's files together, where they come from another machine
};

// Adds the files that a rank's case has left to its end. Those on another machine come here, within
// the limit: one that is over it is marked instead.
void take_left_files(RankProcess& process, int rank, std::vector<store::Artefact> left,
                     const LeftFiles& where, CaseEnd& end);

}  // namespace assay::run
