#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "run/schedule/selection.h"

namespace assay::cli {

// What a command line of `assay run` asks to be measured, its report checked.
struct RunInvocation {
  config::Experiment experiment;
  config::Plan plan;
  std::vector<std::string> overrides;  // for the record: "--set …", "--filter …", "--case …"
  std::optional<std::string> of;       // the stored run it was taken from
  std::vector<std::string> words;      // what of the command line says this, for another command
};

// The experiment in a file, with --set and --filter.
Result<RunInvocation> invocation_of_file(const Context& context, const po::variables_map& values,
                                         const std::string& file);
// The experiment a stored run was made from (--experiment-of), with what it was overridden with, or
// of that the cases that --case names.
Result<RunInvocation> invocation_of_run(const Context& context, const po::variables_map& values);

// --retry and --rerun.
Result<run::Again> asked_again(const po::variables_map& values);

// The run to take up again: that of --resume, and where --retry and --rerun stand alone the one of
// --experiment-of or the newest of the experiment.
Result<std::optional<std::string>> run_to_resume(const po::variables_map& values,
                                                 store::Database& database,
                                                 const RunInvocation& invocation);

}  // namespace assay::cli
