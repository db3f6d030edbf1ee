#include "run/workers/profiling_tool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace assay::run {

namespace {

namespace fs = std::filesystem;

bool is_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  const std::vector<std::string> folders = split(path == nullptr ? "" : path, ':');
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    const fs::path file = fs::path(folder.empty() ? "." : folder) / program;
    std::error_code missing;
    return fs::is_regular_file(file, missing) && ::access(file.c_str(), X_OK) == 0;
  });
}

}  // namespace

Result<ProfilingTool> ProfilingTool::find(const std::string& name) {
  if (name != "nsys" && name != "ncu") {
    return fail(ExitCode::bad_input, fmt::format("--under: there is no '{}'", name),
                "give nsys (Nsight Systems) or ncu (Nsight Compute)");
  }
  if (!is_in_path(name)) {
    return fail(ExitCode::machine_lacks, fmt::format("--under: {} is not in PATH", name),
                fmt::format("Nsight {} brings it; `observe: kernels` needs no further program",
                            name == "nsys" ? "Systems" : "Compute"));
  }
  return ProfilingTool(name);
}

std::vector<std::string> ProfilingTool::command(const fs::path& folder) const {
  const std::string report = (folder / "profile").string();  // they add their ending
  if (name_ == "nsys") {
    return {"nsys",          "profile",         "--output=" + report, "--force-overwrite=true",
            "--sample=none", "--cpuctxsw=none", "--trace=cuda,nvtx"};
  }
  return {"ncu",
          "--export",
          report,
          "--force-overwrite",
          "--target-processes=application-only",
          "--nvtx",
          "--nvtx-include=samples"};
}

}  // namespace assay::run
