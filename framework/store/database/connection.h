#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "store/database/database.h"

namespace assay::store {

// An open results database that has been checked to be one of ours, in the newest schema.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const std::filesystem::path& path, Access access);

  SQLite::Database& database() { return database_; }
  // Throws FileGone when the path no longer names the open file, which SQLite would go on writing
  // to: results nobody could find.
  void check_in_place() const;
  const std::string& path() const { return path_; }

 private:
  Connection(std::string path, SQLite::Database database);

  std::string path_;
  SQLite::Database database_;
  std::pair<std::uint64_t, std::uint64_t> file_;  // device and inode; 0, 0 for a copy in memory
};

// Thrown and caught within this room: a row that no version of this program wrote.
struct DamagedRow {
  std::string message;
};

// Thrown and caught within this room: the file was removed, or another has taken its place.
struct FileGone {};

// What SQLite said, for the person reading; always ExitCode::results_unreadable. system_error: the
// errno behind it, 0 where that is not known.
Error storage_error(const SQLite::Exception& exception, const std::string& path,
                    int system_error = 0);
Error storage_error(const DamagedRow& damage, const std::string& path);
Error storage_error(const FileGone& gone, const std::string& path);

// The errno behind the last error of an open database; 0 where that is not known.
int system_error_of(SQLite::Database& database);

// Calls `body`, which returns a Result, and makes an Error of what it throws. database: the open
// one it works on, null where there is none yet.
template <class Body>
std::invoke_result_t<Body> guarded(const std::string& path, Body&& body,
                                   SQLite::Database* database = nullptr) {
  try {
    return std::forward<Body>(body)();
  } catch (const SQLite::Exception& exception) {
    const int system_error = database == nullptr ? 0 : system_error_of(*database);
    return tl::unexpected(storage_error(exception, path, system_error));
  } catch (const DamagedRow& damage) {
    return tl::unexpected(storage_error(damage, path));
  } catch (const FileGone& gone) {
    return tl::unexpected(storage_error(gone, path));
  }
}

template <class Body>
std::invoke_result_t<Body> guarded(Connection& connection, Body&& body) {
  return guarded(connection.path(), std::forward<Body>(body), &connection.database());
}

}  // namespace assay::store
