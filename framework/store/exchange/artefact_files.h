#pragma once

// The files that the cases of a run have left, beside an export of the run: in the folder
// FILE.artefacts, which holds what the run's folder holds in `artefacts`.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "store/records/records.h"

namespace assay::store {

std::filesystem::path artefacts_beside(const std::filesystem::path& exported);

struct CarriedFiles {
  std::size_t files = 0;
  std::vector<std::string> problems;  // a sentence for each file that was left behind
};

// run_folder: RunInfo::name in the results folder. Copies nothing for a run without artefacts.
CarriedFiles export_artefacts(const Run& run, const std::filesystem::path& run_folder,
                              const std::filesystem::path& exported);

// A run's artefacts as an import names them, whose files are still beside the import.
class ImportedArtefacts {
 public:
  // Gives each artefact of the run its place in a run's folder; drops those that could lie outside.
  explicit ImportedArtefacts(Run& run);

  bool empty() const { return sources_.empty() && problems_.empty(); }
  // Copies each file whose size and hash are those of its artefact. The others stay listed.
  CarriedFiles copy(const std::filesystem::path& imported,
                    const std::filesystem::path& run_folder) const;

 private:
  std::vector<std::pair<std::string, Artefact>> sources_;  // the file beside the import, and where
  std::vector<std::string> problems_;
};

}  // namespace assay::store
