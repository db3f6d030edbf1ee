#pragma once

#include <string>
#include <vector>

#include "run/workers/case_end.h"
#include "wire/messages.h"

namespace assay::run {

// What the host knows of a case before its workers have told anything.
struct ToldOfCase {
  const wire::CaseRequest& request;
  const std::vector<std::string>& unclocked;  // of the passes: they have no time
  int ranks = 1;
  double worked_s = 0;  // the host's own time of it
};

// Why what was told of an `ok` case cannot be, "" where it can: every clocked pass has one time of
// each rank, of as many samples as were asked for, that together took no longer than the case; and
// the facts of its timing and of its checked outputs. No series is of another pass.
std::string why_impossible(const CaseEnd& end, const ToldOfCase& known);

// Takes all numbers of the case back: its passes have this outcome.
void refuse(CaseEnd& end, const std::vector<std::string>& passes, Outcome outcome,
            std::string reason);

}  // namespace assay::run
