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

// Checked to be a results database, in the newest schema.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const std::filesystem::path& path, Access access);

  SQLite::Database& database() { return database_; }
  // Throws FileGone once the path no longer names the open file.
  void check_in_place() const;
  const std::string& path() const { return path_; }

 private:
  Connection(std::string path, SQLite::Database database);

  std::string path_;
  SQLite::Database database_;
  std::pair<std::uint64_t, std::uint64_t> file_;  // device and inode; 0, 0 for a copy in memory
};

// store/database throws and catches both: a row that no assay wrote; a file removed or replaced.
struct DamagedRow {
  std::string message;
};
struct FileGone {};

// Always ExitCode::results_unreadable. system_error: the errno behind it; 0: unknown.
Error storage_error(const SQLite::Exception& exception, const std::string& path,
                    int system_error = 0);
Error storage_error(const DamagedRow& damage, const std::string& path);
Error storage_error(const FileGone& gone, const std::string& path);

// The errno behind the last error of an open database; 0: unknown.
int system_error_of(SQLite::Database& database);

// Turns what `body` throws into an Error. database: the one it works on, once open.
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
