#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/records/records.h"

namespace assay::store {

struct ImportOptions {
  // Name of the experiment; "" takes the one in the file (JSON Lines), or else the file's name.
  std::string experiment = {};
  // Name of the run; "" takes the one in the file (JSON Lines) or leaves it to Database::add_run.
  std::string run = {};
  // When it was measured or imported, where the file does not say so: start and end of the run.
  std::string when = {};
  std::size_t line_bytes = std::size_t{1} << 20;
  std::size_t file_bytes = std::size_t{256} << 20;
};

// Results from a file: JSON Lines (*.jsonl, *.ndjson, or text that begins with a brace) or CSV, as
// docs/results.md describes them. All figures are in base units in the run. Nothing is stored:
// Database::add_run does that.
//
// Every mistake is reported with file:line:column, the first 20 of them together
// (ExitCode::bad_input); lines and columns count from 1, columns in characters.
Result<Run> import_file(const std::filesystem::path& path, const ImportOptions& options = {});

// The same from text that stands for the file `file_name`.
Result<Run> import_text(std::string_view text, const std::string& file_name,
                        const ImportOptions& options = {});

}  // namespace assay::store
