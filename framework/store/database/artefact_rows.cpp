#include "store/database/artefact_rows.h"

#include <utility>

#include "store/records/artefacts.h"

namespace assay::store {

void read_artefacts(SQLite::Database& database, std::int64_t run_id,
                    const std::unordered_map<std::int64_t, std::size_t>& place,
                    std::vector<CaseResult>& cases) {
  SQLite::Statement rows(database,
                         "SELECT case_id, artefacts.pass, rank, name, file, media_type, bytes, "
                         "sha256 FROM artefacts JOIN cases ON cases.id = case_id WHERE run_id = ? "
                         "ORDER BY case_id, position");
  rows.bind(1, run_id);
  while (rows.executeStep()) {
    Artefact artefact;
    artefact.pass = rows.getColumn(1).getString();
    artefact.rank = rows.getColumn(2).getInt();
    artefact.name = rows.getColumn(3).getString();
    artefact.file = rows.getColumn(4).getString();
    artefact.media_type = rows.getColumn(5).getString();
    artefact.bytes = rows.getColumn(6).getInt64();
    artefact.sha256 = rows.getColumn(7).getString();
    // A changed database must not lead elsewhere.
    if (!is_artefact_file(artefact.file)) artefact.file.clear();
    cases[place.at(rows.getColumn(0).getInt64())].artefacts.push_back(std::move(artefact));
  }
}

ArtefactWriter::ArtefactWriter(SQLite::Database& database)
    : insert_(
          database,
          "INSERT INTO artefacts (case_id, position, pass, rank, name, file, media_type, bytes, "
          "sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)") {}

void ArtefactWriter::add(std::int64_t case_id, const std::vector<Artefact>& artefacts) {
  std::int64_t position = 0;
  for (const Artefact& artefact : artefacts) write(case_id, position++, artefact);
}

void ArtefactWriter::write(std::int64_t case_id, std::int64_t position, const Artefact& artefact) {
  insert_.reset();
  insert_.bind(1, case_id);
  insert_.bind(2, position);
  insert_.bind(3, artefact.pass);
  insert_.bind(4, artefact.rank);
  insert_.bind(5, artefact.name);
  insert_.bind(6, artefact.file);
  insert_.bind(7, artefact.media_type);
  insert_.bind(8, artefact.bytes);
  insert_.bind(9, artefact.sha256);
  insert_.exec();
}

}  // namespace assay::store
