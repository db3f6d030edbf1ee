#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay::run {

// A file in the user's cache that a compiler made. It lies in a folder of the contents of all it
// was made from, so that an edit does not replace the file under a program that uses it.
class CachedFile {
 public:
  // key: all that decides the file, apart from the headers.
  CachedFile(std::string_view key, std::string name);

  // The file, where what it was made from is unchanged.
  std::optional<std::filesystem::path> current() const;

  // With their hashes, for what is made of this file in turn.
  std::vector<std::filesystem::path> made_from() const;

  // Where the compiler writes; the process id keeps two builds at once apart.
  std::filesystem::path scratch(std::string_view extension) const;

  // Moves what was built into the cache. started: the time the compiler started.
  Result<std::filesystem::path> keep(const std::filesystem::path& built,
                                     const std::vector<std::filesystem::path>& made_from,
                                     std::filesystem::file_time_type started) const;

 private:
  std::filesystem::path manifest() const { return folder_ / "made_from"; }
  std::filesystem::path file_of(const std::string& lines) const;

  std::filesystem::path folder_;
  std::string name_;
};

// The files that a rule for make, as compilers write it, depends on.
std::vector<std::filesystem::path> prerequisites(const std::string& make_rule);

}  // namespace assay::run
