#pragma once

// worker is the process of one rank: this folder has its entry and the loop that serves the host,
// process what belongs to the process, case what belongs to a case. It depends on both, and on
// conformance. Start here.

#include <filesystem>
#include <vector>

namespace assay::worker {

// One rank: connects to the host named in the environment, runs the cases it is sent, returns the
// exit code when the host closes the connection.
int serve();

// Loads every plugin library and writes the catalogue as JSON to `output`. Returns the exit code;
// complaints go to stderr, all at once.
int write_catalogue(const std::filesystem::path& output, const std::filesystem::path& folder,
                    const std::vector<std::filesystem::path>& more_files);

}  // namespace assay::worker
