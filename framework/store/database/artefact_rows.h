#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "store/records/records.h"

// As rows.h, of the files that cases have left.
namespace assay::store {

// place: of each case's row in `cases`.
void read_artefacts(SQLite::Database& database, std::int64_t run_id,
                    const std::unordered_map<std::int64_t, std::size_t>& place,
                    std::vector<CaseResult>& cases);

class ArtefactWriter {
 public:
  explicit ArtefactWriter(SQLite::Database& database);

  void add(std::int64_t case_id, const std::vector<Artefact>& artefacts);

 private:
  void write(std::int64_t case_id, std::int64_t position, const Artefact& artefact);

  SQLite::Statement insert_;
};

}  // namespace assay::store
