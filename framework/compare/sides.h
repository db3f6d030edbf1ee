#pragma once

#include <functional>
#include <string>

#include "compare/compare.h"
#include "store/database/database.h"

namespace assay::compare {

// Called only if a side needs the database.
using OpenDatabase = std::function<Result<store::Database>()>;

// Reads a side from a text of one or more of these, separated by commas:
//
//   NAME, latest   a stored run; the newest
//   FILE           an exported run: *.jsonl, *.ndjson, *.csv
//   commit:PREFIX  all stored cases measured at that commit of assay (7 digits or more)
//   machine:HOST   all stored cases measured on that host
//   build:PREFIX   all stored cases measured by that build (7 digits or more)
//
// Runs come in the order of the text, selected ones from the oldest on. A run counts once, however
// often it is named.
Result<Side> read_side(const std::string& text, const OpenDatabase& open);

}  // namespace assay::compare
