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
  std::filesystem::path file;         // the Markdown report; empty: it goes to standard output
  std::string markdown;               // where there is no file
  bool replaced = false;              // the file was there with another content
  std::string tables;                 // for the terminal
  std::string summary;                // cli/show/outcome_summary.h
  std::vector<std::string> findings;  // Markdown
  // The parts that could not be made as asked; the report names them too.
  std::vector<Diagnostic> problems;
};

// Prints tables, summary, path and findings, or the report itself, to stdout and problems to
// stderr; bad_input where there are any.
ExitCode print(const Rendered& rendered);

struct ReportRequest {
  // Stored runs or exported files (store::is_run_file); several are merged in this order.
  std::vector<std::string> runs;
  // A layout of configs/layouts by its name, or a path ending in .yaml; else the `report` of the
  // first run's experiment.
  std::optional<std::string> layout = {};
  std::optional<std::string> output = {};  // a file, or "-" for standard output
  // Calibrations for shares (cli/ceilings.h); empty: the newest ones of each run's own machine.
  std::vector<std::string> ceilings = {};
  std::vector<std::string> filters = {};  // cli/case_choice.h
  std::vector<std::string> only = {};     // chapters of a suite; empty: all
};

// Writes the report of stored runs, of suites a document of all chapters that have results, where
// cli/show/report_file.h says. `database` may be null where all runs are files; no ceilings of this
// machine are known then. A mistake in a layout is an error and writes no report; a run's own
// report is made as far as possible.
Result<Rendered> render_report(const Context& context, store::Database* database,
                               const std::filesystem::path& results, const ReportRequest& request);

}  // namespace assay::cli
