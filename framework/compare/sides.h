#pragma once

#include <functional>
#include <string>

#include "compare/compare.h"
#include "store/database.h"

namespace assay::compare {

// Asked for only when a side names something of the database.
using OpenDatabase = std::function<Result<store::Database>()>;

// The side that a text names: one or more of these, separated by commas.
//
//   NAME, latest      a stored run; the newest
//   FILE              a run exported as JSON Lines or CSV: *.jsonl, *.ndjson, *.csv
//   commit:PREFIX     every stored run made from that commit of assay (7 digits or more)
//   machine:HOST      every stored run of that host
//   build:PREFIX      the cases of all stored runs that those binaries measured (7 digits or more)
//
// Runs come in the order they are named, those of a selection from the oldest on; a run that is
// named twice counts once.
Result<Side> read_side(const std::string& text, const OpenDatabase& open);

}  // namespace assay::compare
