#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/cases/resolve.h"
#include "run/workers/worker_group.h"

namespace assay::run {

// Gives every pass of a case that is not ok a `time` series, for its cell in a report: adds the
// missing ones with the case's outcome.
void complete_passes(const std::vector<std::string>& passes, CaseEnd& end);

// Measures each pass by itself (`measure.isolation: pass`) and joins the ends. The time limit holds
// for all passes together. The outcome is the first that is neither ok nor unsupported, else the
// first unsupported one. An interrupt ends the case.
CaseEnd measure_pass_by_pass(const ResolvedCase& resolved,
                             const std::function<CaseEnd(const ResolvedCase& one_pass)>& measure);

}  // namespace assay::run
