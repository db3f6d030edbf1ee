#pragma once

#include "run/schedule/work.h"
#include "run/workers/profiling_tool.h"
#include "run/workers/worker_group.h"
#include "store/records/records.h"

// What a run under a profiler (`--under`) may hold and what it keeps.
namespace assay::run {

// ExitCode::bad_input for chosen cases that the tool cannot take: two profilers of kernels, several
// ranks under ncu. tool: may be null.
Result<void> check_under(const ProfilingTool* tool, const Work& work);

// A run is completed as it was begun: under the same tool, or none. tool: may be null.
Result<void> check_begun_under(const ProfilingTool* tool, const store::RunInfo& run);

// Drops all that was measured; files and the outcome stay.
void drop_measured(const ProfilingTool& tool, CaseEnd& end);

}  // namespace assay::run
