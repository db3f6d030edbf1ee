#pragma once

#include "config/experiment.h"
#include "store/records/records.h"

namespace assay::report {

// A stored run, not owned, with its experiment's text as read.
struct Source {
  // Reads the text: make one per report.
  Source(const store::Run* stored)  // NOLINT(google-explicit-constructor): a run is a source
      : run(stored),
        written(config::read_written(stored->info.first.experiment_text,
                                     stored->info.first.experiment_file)) {}

  const store::Run* run;
  Result<config::Written> written;
};

}  // namespace assay::report
