#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "report/data/cell.h"
#include "report/data/records.h"
#include "report/data/select.h"
#include "report/document/document.h"
#include "report/spec/spec.h"

namespace assay::report {

struct GridRow {
  Key key;                        // codes on Grid::axes
  std::vector<Cell> cells;        // one for each column
  Outcome outcome = Outcome::ok;  // of the first measured cell that is not ok
  std::string reason;
};

struct Grid {
  std::vector<std::string> keys;
  std::vector<std::size_t> axes;
  std::vector<Column> columns;  // with pivots spread
  std::vector<GridRow> rows;
  std::vector<GridRow> omitted;

  std::optional<std::size_t> column(std::string_view name) const;
};

// A row is a combination of keys that has a result of some measure. Rows come in the planned order
// unless the spec sorts them. `more_keys` split the spec's rows; `restricted` narrows its filter.
Result<Grid> build_grid(const Records& records, const GridSpec& spec, const Filter& restricted = {},
                        const std::vector<std::string>& more_keys = {});

// `with_signs`: marked figures have their sign.
std::string field_text(const Records& records, const Grid& grid, const GridRow& row,
                       const Template::Field& field, const CellTexts& cells,
                       bool with_signs = false);

// {mean(column)} and the like over the numbers of a column; NaN without numbers.
double aggregate(const std::vector<const GridRow*>& rows, const std::string& function,
                 std::size_t column);

// Renders aggregates over all rows, other fields from the first row.
std::string render_over_rows(const Records& records, const Grid& grid,
                             const std::vector<const GridRow*>& rows, const Template& text,
                             const CellTexts& cells);

std::vector<const GridRow*> pointers_to(const std::vector<GridRow>& rows);

// The sentence that names the omitted rows; "" without any.
std::string note_text(const Records& records, const Grid& grid, const GridSpec& spec);

}  // namespace assay::report
