#pragma once

// report/table renders tables and text blocks: rows and cells (grid.h), pivots, templates, and the
// lines below. It depends on report/data and report/document. Start here.

#include <string>
#include <vector>

#include "base/error.h"
#include "report/data/records.h"
#include "report/document/document.h"
#include "report/document/side_files.h"
#include "report/spec/spec.h"

namespace assay::report {

// Below the block come its units, formulas, and the reasons for cells that are not numbers.
// Files of a table's other forms go to `files`; `number` counts them in a report.
Result<std::vector<Section>> table_sections(const Records& records, TableSpec spec,
                                            const SideFiles& files, int& number);
Result<std::vector<Section>> text_sections(const Records& records, TextSpec spec);

// Gives a grid without `rows` every axis that varies and that neither `where` nor a pivot fixes.
void default_rows(const Records& records, GridSpec& grid);
// Adds the axes to the rows, with columns behind the leading axis columns.
void add_axis_columns(const std::vector<std::string>& axes, GridSpec& grid);

}  // namespace assay::report
