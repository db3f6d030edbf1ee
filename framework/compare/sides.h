#pragma once

#include <functional>
#include <string>

#include "compare/compare.h"
#include "store/database/database.h"

namespace assay::compare {

// Asked for only when a side names something of the database.
using OpenDatabase = std::function<Result<store::Database>()>;

// The side that a text names: one or more of these, separated by commas.
//
//   NAME, latest      a stored run; the newest
//   FILE              a run exported as JSON Lines or CSV: *.jsonl, *.ndjson, *.csv
//   commit:PREFIX     the cases of all stored runs measured at that commit of assay (7 digits or
//   more) machine:HOST      those measured on that host build:PREFIX      the cases of all stored
//   runs that those binaries measured (7 digits or more)
//
// Runs come in the order they are named, those of a selection from the oldest on. A run counts
// once, however often and in whatever way it is named: as a file, by its name, by what selects it.
Result<Side> read_side(const std::string& text, const OpenDatabase& open);

}  // namespace assay::compare
