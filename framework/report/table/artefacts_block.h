#pragma once

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "report/data/records.h"
#include "report/document/document.h"
#include "report/spec/spec.h"

namespace assay::report {

// Where the files of runs are and the report will be; empty: unknown, so that nothing is linked.
struct ArtefactPlaces {
  std::filesystem::path results;  // holds each run's folder
  std::filesystem::path report;   // the report's folder
};

// A row for each file that the selected cases have left, linked from the report's folder. A file
// that is not where its run left it, or is of another size, is named with its hash alone.
Result<std::vector<Section>> artefact_sections(const Records& records, const ArtefactsSpec& spec,
                                               const ArtefactPlaces& places);

}  // namespace assay::report
