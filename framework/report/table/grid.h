#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "report/data/cell.h"
#include "report/data/records.h"
#include "report/data/select.h"
#include "report/spec/spec.h"

namespace assay::report {

struct GridRow {
  Key key;                        // codes on Grid::axes
  std::vector<Cell> cells;        // one a column
  Outcome outcome = Outcome::ok;  // the first measured cell's that is not ok
  std::string reason;
};

// The rows and cells of a table or a text block, before anything is written.
struct Grid {
  std::vector<std::string> keys;
  std::vector<std::size_t> axes;
  std::vector<Column> columns;  // pivots spread out
  std::vector<GridRow> rows;
  std::vector<GridRow> omitted;

  std::optional<std::size_t> column(std::string_view name) const;
};

// Rows are the combinations of keys for which some measure has a result, in the order the results
// were planned in unless the spec sorts them. `more_keys` are told apart within the spec's own
// rows; `restricted` narrows the spec's own filter.
Result<Grid> build_grid(const Records& records, const GridSpec& spec, const Filter& restricted = {},
                        const std::vector<std::string>& more_keys = {});

// What a field of a template shows in a row.
std::string field_text(const Records& records, const Grid& grid, const GridRow& row,
                       const Template::Field& field, const CellTexts& cells);

// {mean(column)} and its like over the numbers of a column; NaN where it has none.
double aggregate(const std::vector<const GridRow*>& rows, const std::string& function,
                 std::size_t column);

// A template over all rows: aggregates, and names that are the same in every row.
std::string render_over_rows(const Records& records, const Grid& grid,
                             const std::vector<const GridRow*>& rows, const Template& text,
                             const CellTexts& cells);

std::vector<const GridRow*> pointers_to(const std::vector<GridRow>& rows);

// The sentence under a table that names its omitted rows; "" when there are none.
std::string note_text(const Records& records, const Grid& grid, const GridSpec& spec);

}  // namespace assay::report
