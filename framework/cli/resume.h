#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/run_invocation.h"
#include "cli/stored_run.h"
#include "run/schedule/selection.h"

namespace assay::cli {

// A run is resumed with its own experiment and overrides. What is asked for beside them may leave
// cases out and may add passes, but adds no case that the run's experiment does not have:
// check_unchanged() refuses it. --changed takes the experiment and the overrides as they are now.

void add_resume_options(po::options_description& options);

// --retry and --rerun.
Result<run::Again> asked_again(const po::variables_map& values);

// Whether the command line takes up a run of its own experiment, without --changed.
bool is_taken_up(const po::variables_map& values);

// The run that a command line with this experiment or suite takes up; nullopt where it begins one,
// or the run has no experiment. An unknown name is run_to_resume()'s to refuse.
Result<std::optional<StoredRun>> run_taken_up(const po::variables_map& values,
                                              std::string_view text);

// The settings of the run and then those given; the filters given, or without any the run's.
config::Override with_own(const store::RunInfo& info, const config::Override& given);

// Refuses cases that no session of the run planned, and configs with other fields; the error says
// what differs.
Result<void> check_unchanged(const Context& context, const StoredRun& stored,
                             const Planned& planned);

// The run to resume: the one that --resume names, else, with --resume, --retry or --rerun, that of
// --experiment-of or the experiment's newest.
Result<std::optional<std::string>> run_to_resume(const po::variables_map& values,
                                                 store::Database& database,
                                                 const RunInvocation& invocation);

}  // namespace assay::cli
