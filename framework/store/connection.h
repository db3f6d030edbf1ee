#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "store/database.h"

namespace assay::store {

// An open results database that has been checked to be one of ours, in the newest schema.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const std::filesystem::path& path, Access access);

  SQLite::Database& database() { return database_; }
  const std::string& path() const { return path_; }

 private:
  Connection(std::string path, SQLite::Database database)
      : path_(std::move(path)), database_(std::move(database)) {}

  std::string path_;
  SQLite::Database database_;
};

// Thrown and caught within this room: a row that no version of this program wrote.
struct DamagedRow {
  std::string message;
};

// What SQLite said, for the person reading; always ExitCode::results_unreadable.
Error storage_error(const SQLite::Exception& exception, const std::string& path);
Error storage_error(const DamagedRow& damage, const std::string& path);

// Calls `body`, which returns a Result, and makes an Error of what it throws.
template <class Body>
std::invoke_result_t<Body> guarded(const std::string& path, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const SQLite::Exception& exception) {
    return tl::unexpected(storage_error(exception, path));
  } catch (const DamagedRow& damage) {
    return tl::unexpected(storage_error(damage, path));
  }
}

}  // namespace assay::store
