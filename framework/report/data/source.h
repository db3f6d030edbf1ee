#pragma once

#include "config/experiment.h"
#include "store/records/records.h"

namespace assay::report {

// A stored run, not owned, and what the text of its experiment says.
struct Source {
  // Reads the text: do it once for a report.
  Source(const store::Run* stored)  // NOLINT(google-explicit-constructor): a run is a source
      : run(stored),
        written(config::read_written(stored->info.first.experiment_text,
                                     stored->info.first.experiment_file)) {}

  const store::Run* run;
  Result<config::Written> written;
};

}  // namespace assay::report
