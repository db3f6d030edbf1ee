#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/planned_suite.h"

namespace assay::cli {

// What one `assay run` is to measure. Its report has been checked.
struct RunInvocation {
  config::Experiment experiment;       // of a suite: its name, title, text and presets
  config::Plan plan;                   // of a suite: empty
  std::vector<std::string> overrides;  // for the record: "--set …", "--filter …", "--case …"
  std::optional<std::string> of;       // the stored run it was taken from
  std::vector<std::string> words;      // the arguments that ask for it, for a follow-up command
  std::shared_ptr<const PlannedSuite> suite = {};  // null: an experiment
};

// Reads a file, an experiment or a suite, with --set, --filter and --only; where a run is resumed,
// as cli/resume.h says.
Result<RunInvocation> invocation_of_file(const Context& context, const po::variables_map& values,
                                         const std::string& file);
// Reads the experiment or suite of a stored run (--experiment-of) with its overrides, narrowed by
// --case; a case of a suite's run gives the experiment of its chapter.
Result<RunInvocation> invocation_of_run(const Context& context, const po::variables_map& values);

}  // namespace assay::cli
