#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/workers/worker_group.h"

namespace assay::run {

// Makes the tool start the command of a rank's worker; its report appears below `folder`.
void put_under(const ProfilingTool& tool, const std::filesystem::path& folder, std::size_t rank,
               Process::Command& command);

// Lets the workers that have answered end, so that the tool writes what it saw, and adds its
// reports to the case's artefacts, under `pass`. A case that went well but left no report becomes
// an error. Waits 15 min at most, less where the user stops the run.
void take_tool_reports(const ProfilingTool& tool, const std::filesystem::path& folder,
                       const std::string& pass, std::vector<Worker>& workers, Interrupt& interrupt,
                       CaseEnd& end);

}  // namespace assay::run
