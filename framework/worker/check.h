#pragma once

#include <filesystem>
#include <string>

namespace assay::worker {

// Checks one plugin with its kind's conformance suite. `request` is a wire::CheckRequest as JSON.
// Writes CheckSuite, then CheckBegins and CheckResult, to `output` (a file or a FIFO), one a line,
// each before the next step begins. Stops after a plugin that cannot be made. Returns the exit
// code; complaints go to stderr.
int check(const std::filesystem::path& output, const std::string& request);

}  // namespace assay::worker
