#pragma once

#include "run/resolve.h"
#include "run/worker_group.h"

namespace assay::run {

// Runs a case whose variant lives in another program: the case as JSON on its standard input,
// series as JSON lines on its standard output. No shell is involved. `python3` in a descriptor's
// command stands for $ASSAY_PYTHON where that is set.
CaseEnd run_external_case(const ResolvedCase& resolved, Interrupt& interrupt,
                          const std::function<void(const std::string&)>& doing);

}  // namespace assay::run
