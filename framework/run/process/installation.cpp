#include "run/process/installation.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace assay::run {

namespace {

bool is_data_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_directory(folder / "configs" / "models", ignored);
}

}  // namespace

Result<Installation> find_installation() {
  std::error_code error;
  Installation found;
  found.executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(ExitCode::machine_lacks, "the running program cannot be found in /proc");
  const std::filesystem::path prefix = found.executable.parent_path().parent_path();
  found.worker_library = prefix / "lib" / "libassay_worker.so";
  found.plugins = prefix / "plugins";
  if (!std::filesystem::is_directory(found.plugins, error)) {
    found.plugins = prefix / "lib" / "assay" / "plugins";
  }
  found.data = prefix / "share" / "assay";
  for (std::filesystem::path folder = prefix; !is_data_folder(found.data);
       folder = folder.parent_path()) {
    found.data = folder;
    if (folder == folder.root_path()) {
      return fail(ExitCode::machine_lacks,
                  "no configs/models above " + found.executable.parent_path().string(),
                  "keep the program inside its source or installation tree");
    }
  }
  return found;
}

std::filesystem::path cache_folder() {
  if (const char* folder = std::getenv("ASSAY_CACHE")) return folder;
  if (const char* folder = std::getenv("XDG_CACHE_HOME")) {
    return std::filesystem::path(folder) / "assay";
  }
  // The cache holds libraries to load, so others must not be able to write to it.
  const char* home = std::getenv("HOME");
  if (home == nullptr) {
    const passwd* user = ::getpwuid(::getuid());
    home = user == nullptr ? "/" : user->pw_dir;
  }
  return std::filesystem::path(home) / ".cache" / "assay";
}

}  // namespace assay::run
