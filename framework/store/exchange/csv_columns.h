#pragma once

#include <assay/value.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/exchange/csv.h"
#include "store/records/units.h"

namespace assay::store {

// What a column of a results CSV holds, from its header cell.
struct CsvColumn {
  enum class Kind { axis, pass, part, rank, outcome, reason, figure };
  Kind kind = Kind::axis;
  std::string name;       // axis: its name; figure: the metric
  std::string statistic;  // figure: "mean", …, or "samples"
  Unit unit;              // figure
};

// One column a cell. Mistakes go to `problems`; the columns are then of no use.
std::vector<CsvColumn> read_header(const CsvRow& header, Problems& problems);

// The base unit of each metric: that of the first of its columns that says one, else "count".
std::map<std::string, std::string> base_units(const std::vector<CsvColumn>& columns);

// What stands for a value in an axis cell, by the rules of YAML 1.2's core schema for plain
// scalars: true, 16, 0x10, 1.5, 1e-3, .inf, text; monostate for nothing, ~ and null.
Value axis_value(const std::string& text);

}  // namespace assay::store
