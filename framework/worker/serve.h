#pragma once

// worker is the process of one rank. This folder has its entry and the loop that serves the host,
// process what belongs to the process, case what belongs to a case. It depends on both, and on
// conformance. Start here.

#include <filesystem>
#include <vector>

namespace assay::worker {

// Serves as one rank: connects to the host named in the environment and runs the cases it sends.
// Returns the exit code when the host closes the connection.
int serve();

// Loads every plugin library and writes the catalogue as JSON to `output`. Returns the exit code;
// all complaints go to stderr.
int write_catalogue(const std::filesystem::path& output, const std::filesystem::path& folder,
                    const std::vector<std::filesystem::path>& more_files);

}  // namespace assay::worker
