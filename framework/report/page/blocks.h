#pragma once

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "report/data/records.h"
#include "report/document/document.h"
#include "report/spec/spec.h"

namespace assay::report {

// Each block of a spec as sections of the document, with the reasons for its cells that are not
// numbers below it.
Result<std::vector<Section>> table_sections(const Records& records, TableSpec spec);
Result<std::vector<Section>> text_sections(const Records& records, TextSpec spec);
// Files go to `folder`; `number` tells the plots of one report apart.
Result<std::vector<Section>> plot_sections(const Records& records, const PlotSpec& spec,
                                           const std::filesystem::path& folder, int& number);
Result<std::vector<Section>> timeline_sections(const Records& records, const TimelineSpec& spec,
                                               const std::filesystem::path& folder, int& number);
Result<std::vector<Section>> flame_sections(const Records& records, const FlameSpec& spec,
                                            const std::filesystem::path& folder, int& number);
Result<std::vector<Section>> findings_sections(const Records& records, const FindingsSpec& spec);

// Where nothing says what tells rows apart: every axis of the cases that varies and is not chosen
// or spread out already.
void default_rows(const Records& records, GridSpec& grid);
// Further columns of the rows, behind those of axes that there are.
void add_axis_columns(const std::vector<std::string>& axes, GridSpec& grid);

}  // namespace assay::report
