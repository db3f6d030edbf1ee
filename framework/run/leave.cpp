#include "run/leave.h"

#include <algorithm>
#include <system_error>

#include "base/text.h"

namespace assay::run {

namespace fs = std::filesystem;

bool is_trusted(const fs::path& descriptor, std::string_view folders) {
  std::error_code problem;
  const fs::path file = fs::canonical(descriptor, problem);
  if (problem) return false;
  for (const std::string& named : split(folders, ':')) {
    if (!fs::path(named).is_absolute()) continue;
    const fs::path folder = fs::canonical(named, problem);
    if (problem) continue;
    const auto [rest, end] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
    if (rest == folder.end()) return true;
  }
  return false;
}

}  // namespace assay::run
