#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/records/records.h"

namespace assay::store {

struct ImportOptions {
  // "": the name in the file (JSON Lines), else the file's name.
  std::string experiment = {};
  // "": the name in the file (JSON Lines), else Database::add_run gives one.
  std::string run = {};
  // Start and end of a run whose file has none.
  std::string when = {};
  // A line has a series of at most a million samples.
  std::size_t line_bytes = std::size_t{32} << 20;
  std::size_t file_bytes = std::size_t{256} << 20;
};

// Whether the name is that of an exported file, not of a run: *.jsonl, *.ndjson, *.csv, also
// packed.
bool is_run_file(std::string_view name);

// Reads JSON Lines (*.jsonl, *.ndjson, or text that begins with a brace) or CSV, as docs/results.md
// describes them. The run's figures are in base units. Database::add_run stores it.
//
// One error (ExitCode::bad_input) reports the first 20 mistakes with file:line:column; lines and
// columns count from 1, columns in characters.
Result<Run> import_file(const std::filesystem::path& path, const ImportOptions& options = {});

// `file_name` is for the format, the names and the errors.
Result<Run> import_text(std::string_view text, const std::string& file_name,
                        const ImportOptions& options = {});

}  // namespace assay::store
