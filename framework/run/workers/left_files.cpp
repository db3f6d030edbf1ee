#include "run/workers/left_files.h"

#include <fmt/format.h>

#include "store/records/artefacts.h"
#include "store/records/intake.h"

namespace assay::run {

void take_left_files(RankProcess& process, int rank, std::vector<store::Artefact> left,
                     const LeftFiles& where, CaseEnd& end) {
  for (store::Artefact& artefact : left) artefact.rank = rank;
  std::int64_t room = where.limit_bytes;
  store::CaseFacts& facts = end.facts;
  for (store::Artefact& artefact : store::sound_artefacts(std::move(left), rank, facts.left_out)) {
    const std::string name = artefact.file;
    artefact.file = fmt::format("{}/{}/{}", where.folder, rank, name);
    const auto bytes = process.take_file(fmt::format("{}/{}/{}", where.case_number, rank, name),
                                         artefact.file, room);
    if (!bytes) {
      facts.left_out.push_back(
          fmt::format("the file '{}' of rank {}: {}", artefact.name, rank, bytes.error().text()));
    } else if (*bytes > room) {
      facts.marks.push_back(
          store::artefact_not_kept(artefact, store::over_artefact_limit(*bytes, room)));
    } else {
      room -= *bytes;
      end.artefacts.push_back(std::move(artefact));
    }
  }
  process.remove_case(where.case_number);
}

}  // namespace assay::run
