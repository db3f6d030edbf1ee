#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "run/launch/job.h"
#include "run/process/installation.h"

namespace assay::cli {

// --launcher and what belongs to it.
void add_launch_options(po::options_description& options);

// What they ask for; nothing for the launcher `local`, with which this host starts the ranks.
Result<std::optional<run::LaunchRequest>> launch_request(const po::variables_map& values,
                                                         const run::Installation& installation);

// The same options as words, for a follow-up command.
std::vector<std::string> launch_words(const po::variables_map& values);

}  // namespace assay::cli
