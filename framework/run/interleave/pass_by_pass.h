#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/cases/resolve.h"
#include "run/workers/worker_group.h"

namespace assay::run {

// Every pass of a case that is not ok has a `time` series, so that its cell says what became of it:
// adds those that are missing, with the case's outcome.
void complete_passes(const std::vector<std::string>& passes, CaseEnd& end);

// The case as one, each of its passes measured by itself (`measure.isolation: pass`). The case's
// time limit is that of all of them together. Its outcome is the first that is neither ok nor
// unsupported, else the first unsupported one. Where the user interrupts a pass, that is the end.
CaseEnd measure_pass_by_pass(const ResolvedCase& resolved,
                             const std::function<CaseEnd(const ResolvedCase& one_pass)>& measure);

}  // namespace assay::run
