#include "store/database/connection.h"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <system_error>
#include <thread>

#include "store/database/schema.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;

constexpr int busy_timeout_ms = 30'000;
constexpr std::string_view file_magic("SQLite format 3\0", 16);

Error problem_with(const std::string& path, std::string_view what, std::string hint = {}) {
  return Error{
      ExitCode::results_unreadable,
      {Diagnostic{{}, fmt::format("results database {}: {}", path, what), std::move(hint)}}};
}

tl::unexpected<Error> unreadable(const std::string& path, std::string_view what,
                                 std::string hint = {}) {
  return tl::unexpected(problem_with(path, what, std::move(hint)));
}

// Creates the file's folder.
Result<void> check_file(const fs::path& path, Access access) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (!fs::exists(status)) {
    if (problem && status.type() != fs::file_type::not_found) {
      return unreadable(path.string(), problem.message());
    }
    if (access == Access::read_only) {
      return unreadable(path.string(), "there is no such file", "`assay run` makes it");
    }
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), problem);
    if (problem)
      return unreadable(path.string(), "its folder cannot be made: " + problem.message());
    return {};
  }
  if (fs::is_directory(status)) return unreadable(path.string(), "it is a folder");
  if (!fs::is_regular_file(status)) {
    return unreadable(path.string(), "it is a pipe, a socket or a device, not a file",
                      "name another folder with --results");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path.string(), "it cannot be opened for reading");
  std::array<char, file_magic.size()> head{};
  file.read(head.data(), head.size());
  const auto length = static_cast<std::size_t>(file.gcount());
  if (length == 0) {
    if (file.bad()) return unreadable(path.string(), "it cannot be read");
    if (access == Access::read_only) return unreadable(path.string(), "it is empty");
    return {};
  }
  if (std::string_view(head.data(), length) != file_magic) {
    return unreadable(path.string(), "it is not an SQLite database",
                      "name another file; this one is left as it is");
  }
  return {};
}

// The write-ahead log keeps its index in shared memory, which stops at one host: two hosts writing
// at once through a network file system would damage the file.
bool is_on_network_file_system(const std::string& path) {
  struct statfs information {};
  if (statfs(path.c_str(), &information) != 0) return false;
  constexpr std::array<std::uint32_t, 9> network{
      0x6969,      // NFS
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2
      0x517B,      // SMB
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
      0x00C36400,  // Ceph
      0x01021997,  // 9P
  };
  for (const std::uint32_t type : network) {
    if (static_cast<std::uint32_t>(information.f_type) == type) return true;
  }
  return false;
}

bool is_on_read_only_file_system(const std::string& path) {
  struct statvfs information {};
  const std::string folder = fs::path(path).parent_path().string();
  return ::statvfs(folder.empty() ? "." : folder.c_str(), &information) == 0 &&
         (information.f_flag & ST_RDONLY) != 0;
}

std::string in_words(int system_error) {
  return system_error == 0 ? "" : ": " + std::generic_category().message(system_error);
}

bool is_busy(const SQLite::Exception& exception) {
  return exception.getErrorCode() == SQLITE_BUSY || exception.getErrorCode() == SQLITE_LOCKED;
}

// SQLite needs the file alone to change the mode, and does not always wait for that by itself.
void choose_journal(SQLite::Database& database, const std::string& path) {
  if (is_on_network_file_system(path)) return;
  const auto give_up =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(busy_timeout_ms);
  while (true) {
    try {
      const std::string mode = database.execAndGet("PRAGMA journal_mode = WAL").getString();
      return;
    } catch (const SQLite::Exception& exception) {
      if (!is_busy(exception) || std::chrono::steady_clock::now() > give_up) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

struct Identity {
  int application = 0;
  int version = 0;
  bool empty = true;
};

// One read transaction: another process may be creating the tables.
Identity identify(SQLite::Database& database) {
  SQLite::Transaction transaction(database);
  Identity identity;
  identity.application = database.execAndGet("PRAGMA application_id").getInt();
  identity.version = database.execAndGet("PRAGMA user_version").getInt();
  identity.empty = database.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
  return identity;
}

Result<void> check_identity(const Identity& identity, const std::string& path, Access access) {
  const bool blank = identity.application == 0 && identity.version == 0 && identity.empty;
  if (blank && access == Access::read_write) return {};
  if (blank) return unreadable(path, "it holds no results yet");
  if (identity.application != application_id) {
    return unreadable(path, "it is a database of another program",
                      "name another file; this one is left as it is");
  }
  if (identity.version > newest_schema_version()) {
    return unreadable(path,
                      fmt::format("its schema is version {}, this assay knows up to {}",
                                  identity.version, newest_schema_version()),
                      "a newer assay made it: use that one");
  }
  return {};
}

std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", static_cast<int>(c))
                                            : std::string(1, c);
  }
  return uri + "?immutable=1";
}

// Without a file beside the database for the log's index: it lies in this process's memory.
// Throws where another process has the file open, which then has made that file.
SQLite::Database open_alone(const std::string& path) {
  SQLite::Database database(path, SQLite::OPEN_READWRITE, busy_timeout_ms, "unix-excl");
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  database.exec("PRAGMA query_only = ON");
  identify(database);
  return database;
}

SQLite::Database open_to_read(const std::string& path) {
  try {
    SQLite::Database database(path, SQLite::OPEN_READONLY, busy_timeout_ms);
    identify(database);
    return database;
  } catch (const SQLite::Exception& exception) {
    // Reading with a write-ahead log needs a file beside the database. In a read-only folder and on
    // a full disk nobody writes, so the database file alone suffices, unless a log still holds
    // commits.
    const int code = exception.getErrorCode();
    const bool disk_is_full = code == SQLITE_IOERR || code == SQLITE_FULL;
    const bool wants_to_write = disk_is_full || code == SQLITE_CANTOPEN || code == SQLITE_READONLY;
    std::error_code absent;
    const auto log_bytes = fs::file_size(path + "-wal", absent);
    if (disk_is_full && !absent && log_bytes > 0) return open_alone(path);
    if (!wants_to_write || (!absent && log_bytes > 0)) throw;
    return SQLite::Database(immutable_uri(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI,
                            busy_timeout_ms);
  }
}

SQLite::Database migrated_copy(SQLite::Database& original) {
  SQLite::Database copy(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  SQLite::Backup(copy, original).executeStep();
  migrate(copy, migration_steps());
  copy.exec("PRAGMA query_only = ON");
  return copy;
}

// Zeros for a missing file.
std::pair<std::uint64_t, std::uint64_t> file_identity(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {0, 0};
  return {status.st_dev, status.st_ino};
}

}  // namespace

Connection::Connection(std::string path, SQLite::Database database)
    : path_(std::move(path)), database_(std::move(database)), file_(file_identity(path_)) {
  // A commit reaches the disk before it returns; some builds of SQLite defer that to the next
  // checkpoint, and a power cut would lose what was reported as stored.
  database_.exec("PRAGMA synchronous = FULL");
  // Sorting takes no space on a disk, which may be full.
  database_.exec("PRAGMA temp_store = MEMORY");
}

void Connection::check_in_place() const {
  if (file_identity(path_) != file_) throw FileGone{};
}

Result<std::unique_ptr<Connection>> Connection::open(const fs::path& path, Access access) {
  const std::string name = path.string();
  if (const auto usable = check_file(path, access); !usable) return tl::unexpected(usable.error());
  return guarded(name, [&]() -> Result<std::unique_ptr<Connection>> {
    SQLite::Database database =
        access == Access::read_only
            ? open_to_read(name)
            : SQLite::Database(name, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, busy_timeout_ms);
    const Identity identity = identify(database);
    if (const auto ours = check_identity(identity, name, access); !ours) {
      return tl::unexpected(ours.error());
    }
    if (access == Access::read_write) {
      if (sqlite3_db_readonly(database.getHandle(), "main") == 1) {
        throw SQLite::Exception("it is read-only", SQLITE_READONLY);
      }
      choose_journal(database, name);
      if (identity.version < newest_schema_version()) migrate(database, migration_steps());
      database.exec("PRAGMA foreign_keys = ON");
    } else if (identity.version < newest_schema_version()) {
      database = migrated_copy(database);
    }
    return std::unique_ptr<Connection>(new Connection(name, std::move(database)));
  });
}

// Only the file that a commit failed to write, the log or the database, knows the errno.
int system_error_of(SQLite::Database& database) {
  sqlite3* const handle = database.getHandle();
  int of_log = 0, of_database = 0;
  sqlite3_file* log = nullptr;
  sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != nullptr && log->pMethods != nullptr && log->pMethods->xFileControl != nullptr) {
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &of_log);
  }
  sqlite3_file_control(handle, "main", SQLITE_FCNTL_LAST_ERRNO, &of_database);
  return of_log != 0 ? of_log : of_database != 0 ? of_database : sqlite3_system_errno(handle);
}

Error storage_error(const SQLite::Exception& exception, const std::string& path, int system_error) {
  const int code = exception.getErrorCode();
  const bool of_file = code == SQLITE_READONLY || code == SQLITE_CANTOPEN || code == SQLITE_IOERR;
  if (of_file && (system_error == EROFS || is_on_read_only_file_system(path))) {
    return problem_with(path, "it is on a read-only file system",
                        "what was stored before is kept; mount it writable, or name another folder "
                        "with --results");
  }
  switch (code) {
    case SQLITE_NOTADB:
      return problem_with(path, "it is not an SQLite database");
    case SQLITE_CORRUPT:
      return problem_with(path, "it is damaged",
                          "keep a copy; `sqlite3 FILE .recover` may save what it holds");
    case SQLITE_FULL:
      return problem_with(path, "the disk is full", "what was stored before is kept");
    case SQLITE_READONLY:
      return problem_with(path, "it is read-only", "make the file and its folder writable");
    case SQLITE_CANTOPEN:
      return problem_with(path, "it cannot be opened",
                          "check that the file and its folder may be read and written");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return problem_with(
          path, fmt::format("another process has kept it locked for {} s", busy_timeout_ms / 1000));
    case SQLITE_IOERR:
      return problem_with(path,
                          fmt::format("reading or writing it failed ({}{})",
                                      exception.getErrorStr(), in_words(system_error)),
                          "is the disk full or gone? what was stored before is kept");
    default:
      return problem_with(path, exception.what());
  }
}

Error storage_error(const FileGone&, const std::string& path) {
  return problem_with(path, "it has been removed or replaced since it was opened",
                      "what was stored went with it; leave the results folder alone during a run");
}

Error storage_error(const DamagedRow& damage, const std::string& path) {
  return problem_with(path, damage.message, "the file has been changed or damaged");
}

}  // namespace assay::store
