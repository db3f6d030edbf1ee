#pragma once

#include <assay/value.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/exchange/csv.h"
#include "store/records/units.h"

namespace assay::store {

// A column of a results CSV, from its header cell.
struct CsvColumn {
  enum class Kind { axis, pass, part, lane, rank, outcome, reason, figure, words, artefact };
  Kind kind = Kind::axis;
  std::string name;       // axis: its name; figure, words: the metric
  std::string statistic;  // figure: "mean", …, or "samples"
  Unit unit;              // figure
};

// The header cells of what is not a number: the words of a metric ("dtype.words [text]") and the
// files of a case, each as a JSON object.
inline constexpr std::string_view words_header = ".words [text]";
inline constexpr std::string_view artefact_header = "artefact [json]";

// One column per cell. Mistakes go to `problems` and make the columns useless.
std::vector<CsvColumn> read_header(const CsvRow& header, Problems& problems);

// The base unit of each metric: that of its first column with a unit of its own, else "count".
std::map<std::string, std::string> base_units(const std::vector<CsvColumn>& columns);

// Reads an axis cell by YAML 1.2's core schema for plain scalars: true, 16, 0x10, 1.5, 1e-3, .inf,
// text; monostate for an empty cell, ~ and null.
Value axis_value(const std::string& text);

}  // namespace assay::store
