#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"

// What runs are called, and which names the database has. Throws SQLite's errors.
namespace assay::store {

// Whether a run may be called so: its name becomes a folder.
Result<void> check_run_name(const std::string& name);

// What the numbered runs of an experiment begin with: its name, cut between two characters where
// the number would not fit.
std::string numbered_stem(const std::string& experiment);

// Whether a run that the database does not have has left something where a run of this name would
// write: its report, or a link to another place.
bool is_left_folder(const std::filesystem::path& results, const std::string& run);

// The next numbered one of the experiment.
std::string next_name(SQLite::Database& database, const std::filesystem::path& results,
                      const std::string& experiment);

// A run's row in the database.
std::optional<std::int64_t> find_run(SQLite::Database& database, const std::string& name);

// Names the run that is nearest in spelling, or the newest.
tl::unexpected<Error> unknown_run(SQLite::Database& database, const std::string& name);

}  // namespace assay::store
