#include "store/database/case_digests.h"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <string_view>

#include "base/fnv.h"

namespace assay::store {
namespace {

class Hash {
 public:
  void add(std::string_view bytes) {
    constexpr std::uint64_t between_fields = 0x100;  // no byte
    value_ = fnv_with(fnv_of_bytes(bytes, value_), between_fields);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = fnv_basis;
};

void add_row(SQLite::Statement& row, Hash& hash) {
  for (int i = 0; i < row.getColumnCount(); ++i) {
    const SQLite::Column column = row.getColumn(i);
    const auto* bytes = static_cast<const char*>(column.getBlob());
    hash.add({bytes == nullptr ? "" : bytes, static_cast<std::size_t>(column.getBytes())});
  }
}

void add_rows(SQLite::Database& database, const char* query, std::int64_t case_id, Hash& hash) {
  SQLite::Statement rows(database, query);
  rows.bind(1, case_id);
  while (rows.executeStep()) add_row(rows, hash);
}

// 0 where there is no such case.
std::uint64_t digest_of(SQLite::Database& database, std::int64_t run_id, const std::string& key) {
  SQLite::Statement row(database,
                        "SELECT id, key_text, parameters, build, outcome, reason, wall_s, "
                        "measured_at, context FROM cases WHERE run_id = ? AND key = ?");
  row.bind(1, run_id);
  row.bind(2, key);
  if (!row.executeStep()) return 0;
  Hash hash;
  add_row(row, hash);
  const std::int64_t case_id = row.getColumn(0).getInt64();
  add_rows(database,
           "SELECT pass, metric, part, rank, unit, outcome, reason, clock, samples, lane, words, "
           "checksum FROM series WHERE case_id = ? ORDER BY position",
           case_id, hash);
  add_rows(database,
           "SELECT name, value FROM statistics JOIN series ON series.id = series_id "
           "WHERE case_id = ? ORDER BY position, name",
           case_id, hash);
  return hash.value();
}

// Differs from an earlier one where another connection has written meanwhile.
std::int64_t version_of(SQLite::Database& database) {
  return database.execAndGet("PRAGMA data_version").getInt64();
}

}  // namespace

CaseDigests::CaseDigests(SQLite::Database& database) : version_(version_of(database)) {}

void CaseDigests::note(SQLite::Database& database, std::int64_t run_id, const std::string& key) {
  noted_[run_id][key] = digest_of(database, run_id, key);
}

std::vector<std::string> CaseDigests::changed(SQLite::Database& database,
                                              std::int64_t run_id) const {
  std::vector<std::string> keys;
  const auto noted = noted_.find(run_id);
  if (noted == noted_.end() || version_of(database) == version_) return keys;
  for (const auto& [key, digest] : noted->second) {
    if (digest_of(database, run_id, key) != digest) keys.push_back(key);
  }
  return keys;
}

}  // namespace assay::store
