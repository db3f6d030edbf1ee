#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace assay {

struct FileDigest {
  std::int64_t bytes = 0;
  std::string sha256;
};

// Of a file that others may have put there: its size, as of now. As digest_below(), but reads none
// of it.
Result<std::int64_t> size_below(const std::filesystem::path& root, std::string_view file);

// Reads a file that others may have put there: follows no link below `root`, waits for no pipe, and
// reads at most `limit_bytes`. file: names joined by '/'. Errors (ExitCode::bad_input) say why.
Result<FileDigest> digest_below(const std::filesystem::path& root, std::string_view file,
                                std::int64_t limit_bytes);

// The same, and copies the file to `to`, which appears whole and with its digest as `expected`, or
// not at all. Makes the folders of `to`.
Result<void> copy_from_below(const std::filesystem::path& root, std::string_view file,
                             const FileDigest& expected, const std::filesystem::path& to);

}  // namespace assay
