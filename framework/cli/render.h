#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"

namespace assay::cli {

struct Rendered {
  std::filesystem::path file;  // the Markdown report
  std::string tables;          // for the terminal
  std::string summary;         // of the outcomes, as cli/outcome_summary.h says
  // What could not be made as asked for; the report says it in its place.
  std::vector<Diagnostic> problems;
};

// Its tables and path on standard output, its problems on standard error; bad_input where it has
// any.
ExitCode print(const Rendered& rendered);

// Makes the report of stored runs (several: merged, in this order) in the folder of the first. The
// spec is the layout when one is named (configs/layouts/NAME.yaml, or a path ending in .yaml),
// else the `report` of the experiment the first run was made from. A layout with a mistake is an
// error and nothing is written; a run's own report is made as far as it can be. `ceilings`: what
// shares are of, as cli/ceilings.h says; empty: the newest calibrations of each run's own machine.
Result<Rendered> render_report(const Session& session, store::Database& database,
                               const std::filesystem::path& results,
                               const std::vector<std::string>& runs,
                               const std::optional<std::string>& layout,
                               const std::optional<std::string>& output = {},
                               const std::vector<std::string>& ceilings = {});

}  // namespace assay::cli
