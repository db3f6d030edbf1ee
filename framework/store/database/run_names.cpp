#include "store/database/run_names.h"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "store/database/rows.h"

namespace assay::store {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t highest_counted = 1'000'000'000'000;  // a higher one: a chosen name

}  // namespace

Result<void> check_run_name(const std::string& name) {
  if (is_run_name(name)) return {};
  constexpr std::size_t shown = 80;
  return fail(ExitCode::bad_input,
              fmt::format("'{}{}' cannot be the name of a run", name.substr(0, shown),
                          name.size() > shown ? "…" : ""),
              fmt::format("a run's name becomes a folder: 1 to {} bytes, no slash, no leading dot, "
                          "not the database's name",
                          longest_run_name));
}

std::string numbered_stem(const std::string& experiment) {
  constexpr std::size_t number_bytes = 14;  // "-1000000000001"
  constexpr std::size_t most = longest_run_name - number_bytes;
  if (experiment.size() <= most) return experiment;
  std::size_t end = most;
  const auto continues = [&](std::size_t i) {
    return (static_cast<unsigned char>(experiment[i]) & 0xC0) == 0x80;
  };
  while (end > 0 && continues(end)) --end;
  return experiment.substr(0, end);
}

bool is_left_folder(const fs::path& results, const std::string& run) {
  std::error_code ignored;
  const fs::path folder = results / run;
  const fs::file_status status = fs::symlink_status(folder, ignored);
  if (!fs::exists(status)) return false;
  return !fs::is_directory(status) || !fs::is_empty(folder, ignored);
}

std::string next_name(SQLite::Database& database, const fs::path& results,
                      const std::string& experiment) {
  SQLite::Statement names(database, "SELECT name FROM runs WHERE substr(name, 1, length(?1)) = ?1");
  const std::string prefix = numbered_stem(experiment) + "-";
  names.bind(1, prefix);
  std::int64_t highest = 0;
  while (names.executeStep()) {
    const std::string name = names.getColumn(0).getString();
    std::int64_t number = 0;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + prefix.size(), end, number);
    const bool is_number = read.ec == std::errc{} && read.ptr == end;
    if (is_number && number <= highest_counted) highest = std::max(highest, number);
  }
  std::int64_t next = highest + 1;
  while (is_left_folder(results, fmt::format("{}{}", prefix, next))) ++next;
  return fmt::format("{}{}", prefix, next);
}

std::optional<std::int64_t> find_run(SQLite::Database& database, const std::string& name) {
  SQLite::Statement row(database, "SELECT id FROM runs WHERE name = ?");
  row.bind(1, name);
  if (!row.executeStep()) return std::nullopt;
  return row.getColumn(0).getInt64();
}

tl::unexpected<Error> unknown_run(SQLite::Database& database, const std::string& name) {
  SQLite::Statement rows(database, "SELECT name FROM runs" + std::string(newest_first));
  std::vector<std::string> names;
  while (rows.executeStep()) names.push_back(rows.getColumn(0).getString());
  const std::string message = fmt::format("there is no run '{}'", name);
  if (names.empty()) return fail(ExitCode::bad_input, message, "the database has no runs yet");
  if (const std::optional<std::string> near = nearest(name, names)) {
    return fail(ExitCode::bad_input, message, fmt::format("did you mean '{}'?", *near));
  }
  return fail(ExitCode::bad_input, message, fmt::format("the newest is '{}'", names.front()));
}

}  // namespace assay::store
