#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace assay::store {

// Whether the bytes begin as a gzip file does.
bool is_gzip(std::string_view bytes);
// results.jsonl of results.jsonl.gz.
std::filesystem::path plain_name(const std::filesystem::path& file);
// The same bytes on each call: no name and no time is in it.
std::string gzip(std::string_view text);
// ExitCode::bad_input for a damaged or cut file, and one that holds more than `limit` bytes.
Result<std::string> gunzip(std::string_view bytes, std::size_t limit);

}  // namespace assay::store
