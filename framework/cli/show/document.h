#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/show/render.h"
#include "report/page/report.h"

namespace assay::cli {

// What a report of these runs needs, without folder and spec. The runs outlive it. `results`: the
// folder with the runs' files.
report::Inputs inputs_of(const Context& context, store::Database* database,
                         const std::filesystem::path& results,
                         const std::vector<std::string>& ceilings,
                         const std::vector<store::Run>& runs);

// By the report of the first run's experiment; where that cannot be made, the default one, so that
// the results are always shown.
Result<report::Document> document_of_run(report::Inputs inputs);

// The document of a suite from its stored runs, which all have a record of one. `only`: names of
// chapters; empty: all. Pictures go to a folder for each chapter below
// the folder of `place`, with its prefix.
Result<report::Document> document_of_suite(const Context& context, store::Database* database,
                                           const std::filesystem::path& results,
                                           const ReportRequest& request,
                                           const std::vector<store::Run>& runs,
                                           const report::Inputs& place);

// Lines for the terminal: each chapter with the outcomes of its cases.
std::string suite_summary(const std::vector<store::Run>& runs,
                          const std::vector<std::string>& only);

}  // namespace assay::cli
