#include "run/external/permission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
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

std::optional<std::string> why_not_permitted(const catalogue::PluginInfo& external, bool allowed) {
  const char* trusted = std::getenv(trusted_variable);
  if (allowed || is_trusted(external.file, trusted == nullptr ? "" : trusted)) return {};
  return fmt::format(
      "{} runs a program of its own ({}); allow it with --allow-external, or name the folder of {} "
      "in {}",
      external.name, join(external.command, " "), external.file, trusted_variable);
}

void require_permission(ResolvedCase& resolved, bool allowed) {
  if (resolved.skipped || resolved.external == nullptr) return;
  resolved.skipped = why_not_permitted(*resolved.external, allowed);
}

}  // namespace assay::run
