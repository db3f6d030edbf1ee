#pragma once

// report/table makes tables and text blocks: rows and cells (grid.h), pivots, templates, and the
// lines below. It depends on report/data and report/document. Start here.

#include <string>
#include <vector>

#include "base/error.h"
#include "report/data/records.h"
#include "report/document/document.h"
#include "report/spec/spec.h"

namespace assay::report {

// A block of a spec as sections of the document, with the reasons for its cells that are not
// numbers below it.
Result<std::vector<Section>> table_sections(const Records& records, TableSpec spec);
Result<std::vector<Section>> text_sections(const Records& records, TextSpec spec);

// Where nothing says what tells rows apart: every axis of the cases that varies and is not chosen
// or spread out already.
void default_rows(const Records& records, GridSpec& grid);
// Further columns of the rows, behind those of axes that there are.
void add_axis_columns(const std::vector<std::string>& axes, GridSpec& grid);

}  // namespace assay::report
