#pragma once

// store/exchange writes runs as JSON Lines or CSV and reads them back; docs/results.md describes
// both formats. It depends on store/records. Start with this header and import.h; a new format goes
// beside them.

#include <iosfwd>

#include "base/error.h"
#include "store/records/records.h"

namespace assay::store {

struct ExportOptions {
  // false: after a run's first line, lines name only host, GPU, source and versions.
  bool whole_context_in_every_line = false;
};

// JSON Lines: one object per series; one with empty pass and metric for a case without series.
// import_file returns the same run, except that non-finite samples have become null (NaN) and their
// series an `error` whose reason names them. Samples are in the base unit. Both exports return
// ExitCode::results_unreadable for a stream that cannot be written.
Result<void> export_json_lines(const Run& run, std::ostream& out,
                               const ExportOptions& options = {});

// CSV: one row for each pass, part and rank of a case, with statistics and samples of each metric
// in the base unit. Loses the context: machine, provenance, clocks and the types of axis values
// (the text "16" and the number 16).
Result<void> export_csv(const Run& run, std::ostream& out);

}  // namespace assay::store
