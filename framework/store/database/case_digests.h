#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <SQLiteCpp/Database.h>

namespace assay::store {

// Hashes of the cases that a database object has recorded, as their rows lie in the file.
class CaseDigests {
 public:
  explicit CaseDigests(SQLite::Database& database);

  // As the case's rows are now.
  void note(SQLite::Database& database, std::int64_t run_id, const std::string& key);
  // The keys of the noted cases whose rows are now others or gone. Looks only where another
  // connection has written to the file.
  std::vector<std::string> changed(SQLite::Database& database, std::int64_t run_id) const;

 private:
  std::int64_t version_;
  std::map<std::int64_t, std::map<std::string, std::uint64_t>> noted_;  // by run and key
};

}  // namespace assay::store
