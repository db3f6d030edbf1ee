#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::run {

struct TakenArtefacts {
  std::vector<store::Artefact> artefacts;  // `file` is relative to the run's folder
  std::vector<store::Mark> marks;          // what could not be taken over, and why
};

// Moves the files that a case has left to `<run folder>/artefacts/<key>/<pass>/<rank>/`, with their
// sizes and hashes. left: their `file` is a path of the workers'. Takes regular files only, of at
// most `limit_bytes` a rank.
TakenArtefacts take_artefacts(const std::vector<store::Artefact>& left, const std::string& case_key,
                              const std::filesystem::path& run_folder, std::int64_t limit_bytes);

}  // namespace assay::run
