#pragma once

#include <filesystem>
#include <string>

#include "cli/show/render.h"

namespace assay::cli {

struct ReportFile {
  std::filesystem::path path;  // empty: standard output
  std::string picture_prefix;  // report::Inputs::picture_prefix
  bool own = false;            // a run's own report, which is made anew as the run goes on
};

// Where the report goes: to --output, else into the first run's folder. There report.md is the
// run's own; a report of a layout, of several runs or of some cases has a name that says so.
// That of an exported file, figures.jsonl, is figures.md beside it. Refuses an output that is no
// Markdown.
Result<ReportFile> report_file(const std::filesystem::path& results, const ReportRequest& request);

}  // namespace assay::cli
