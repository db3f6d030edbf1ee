#pragma once

// cli/show prints: progress, outcomes, the page of a case, checks, and the report of a run. It
// depends on cli. Start here.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"

namespace assay::cli {

struct Rendered {
  std::filesystem::path file;  // the Markdown report
  std::string tables;          // for the terminal
  std::string summary;         // of the outcomes, as cli/show/outcome_summary.h says
  // What could not be made as asked for; the report says it in its place.
  std::vector<Diagnostic> problems;
};

// Its tables and path on standard output, its problems on standard error; bad_input where it has
// any.
ExitCode print(const Rendered& rendered);

struct ReportRequest {
  std::vector<std::string> runs;  // several: merged, in this order
  // configs/layouts/NAME.yaml, or a path ending in .yaml; without, the `report` of the experiment
  // the first run was made from.
  std::optional<std::string> layout = {};
  std::optional<std::string> output = {};
  // What shares are of, as cli/ceilings.h says; empty: the newest calibrations of each run's own
  // machine.
  std::vector<std::string> ceilings = {};
  std::vector<std::string> filters = {};  // of the cases, as cli/case_choice.h says
};

// Makes the report of stored runs in the folder of the first. A layout with a mistake is an error
// and nothing is written; a run's own report is made as far as it can be.
Result<Rendered> render_report(const Context& context, store::Database& database,
                               const std::filesystem::path& results, const ReportRequest& request);

}  // namespace assay::cli
