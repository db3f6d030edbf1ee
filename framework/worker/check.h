#pragma once

#include <filesystem>
#include <string>

namespace assay::worker {

// Checks one plugin with its kind's conformance suite. `request` is a wire::CheckRequest as JSON;
// CheckSuite, then CheckBegins and CheckResult, go to `output` (a file or a FIFO), one a line, each
// before the next thing is begun. Stops after a plugin that cannot be made. Returns the exit code;
// complaints go to stderr.
int check(const std::filesystem::path& output, const std::string& request);

}  // namespace assay::worker
