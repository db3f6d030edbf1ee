#pragma once

// store/exchange writes runs as JSON Lines or CSV and reads them back. It depends on store/records.
// Start with this header and import.h; a new format goes beside them.

#include <iosfwd>

#include "base/error.h"
#include "store/records/records.h"

namespace assay::store {

// docs/results.md describes both formats. A stream that cannot be written (a full disk) is an Error
// with ExitCode::results_unreadable.

struct ExportOptions {
  // The first line of a run always carries machine and provenance whole; the others name host, GPU,
  // source and versions, unless they are to be whole as well.
  bool whole_context_in_every_line = false;
};

// JSON Lines: one object a series; one with empty pass and metric for a case that has no series.
// import_file gives back the same run, except that non-finite samples have become null (NaN) and
// their series an `error` whose reason names them. Samples are in the base unit.
Result<void> export_json_lines(const Run& run, std::ostream& out,
                               const ExportOptions& options = {});

// CSV: one row for each pass, part and rank of a case, with statistics and samples of each metric
// in the base unit. Holds the figures, not their context: machine, provenance, clocks and the types
// of axis values ("16" the text and 16 the number) are lost.
Result<void> export_csv(const Run& run, std::ostream& out);

}  // namespace assay::store
