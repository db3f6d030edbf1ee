#include "run/process/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <system_error>

namespace assay::run {

TemporaryFolder::TemporaryFolder(const std::string& purpose) {
  std::error_code missing;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(missing);
  if (missing) {
    problem_ = "the folder for temporary files (TMPDIR) is not a folder";
    return;
  }
  std::string pattern = (parent / fmt::format("assay-{}-XXXXXX", purpose)).string();
  if (::mkdtemp(pattern.data()) != nullptr) {
    path_ = pattern;
  } else {
    problem_ = fmt::format("no folder can be made in {}: {}", parent.string(),
                           std::error_code(errno, std::generic_category()).message());
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace assay::run
