#include "store/exchange/artefact_files.h"

#include <fmt/format.h>

#include <map>

#include "base/files_below.h"
#include "store/records/artefacts.h"
#include "store/records/intake.h"

namespace assay::store {
namespace {

std::string beside_export(const std::string& file) {
  const std::string prefix = std::string(artefact_folder) + "/";
  return file.starts_with(prefix) ? file.substr(prefix.size()) : file;
}

std::string left_behind(const Artefact& artefact, const Error& why) {
  return fmt::format("{} of {} bytes (SHA-256 {}): {}", artefact.name, artefact.bytes,
                     artefact.sha256, why.text());
}

}  // namespace

std::filesystem::path artefacts_beside(const std::filesystem::path& exported) {
  return exported.string() + ".artefacts";
}

CarriedFiles export_artefacts(const Run& run, const std::filesystem::path& run_folder,
                              const std::filesystem::path& exported) {
  CarriedFiles carried;
  for (const CaseResult& result : run.cases) {
    for (const Artefact& artefact : result.artefacts) {
      const auto to = artefacts_beside(exported) / beside_export(artefact.file);
      const auto copied =
          copy_from_below(run_folder, artefact.file, {artefact.bytes, artefact.sha256}, to);
      if (copied) {
        ++carried.files;
      } else {
        carried.problems.push_back(left_behind(artefact, copied.error()));
      }
    }
  }
  return carried;
}

ImportedArtefacts::ImportedArtefacts(Run& run) {
  for (CaseResult& result : run.cases) {
    std::map<int, std::vector<Artefact>> by_rank;
    for (Artefact& artefact : result.artefacts) {
      by_rank[artefact.rank].push_back(std::move(artefact));
    }
    result.artefacts.clear();
    for (auto& [rank, artefacts] : by_rank) {
      for (Artefact& artefact : sound_artefacts(std::move(artefacts), rank, problems_)) {
        const std::string source = beside_export(artefact.file);
        artefact.file = artefact_file(result.key, artefact);
        sources_.emplace_back(source, artefact);
        result.artefacts.push_back(std::move(artefact));
      }
    }
  }
}

CarriedFiles ImportedArtefacts::copy(const std::filesystem::path& imported,
                                     const std::filesystem::path& run_folder) const {
  CarriedFiles carried;
  carried.problems = problems_;
  for (const auto& [source, artefact] : sources_) {
    const auto copied =
        copy_from_below(artefacts_beside(imported), source, {artefact.bytes, artefact.sha256},
                        run_folder / artefact.file);
    if (copied) {
      ++carried.files;
    } else {
      carried.problems.push_back(left_behind(artefact, copied.error()));
    }
  }
  return carried;
}

}  // namespace assay::store
