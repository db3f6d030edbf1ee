#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace assay::run {

// A profiler that starts the workers and looks at them until they end: `assay run --under nsys`.
class ProfilingTool {
 public:
  // name: nsys (Nsight Systems) or ncu (Nsight Compute), which must be found in PATH.
  static Result<ProfilingTool> find(const std::string& name);

  const std::string& name() const { return name_; }
  // The name of the file it leaves, such as "profile.nsys-rep".
  std::string report() const { return "profile." + name_ + "-rep"; }
  // What goes in front of a worker's command; folder: where report() appears, and nothing else.
  std::vector<std::string> command(const std::filesystem::path& folder) const;

 private:
  explicit ProfilingTool(std::string name) : name_(std::move(name)) {}

  std::string name_;
};

}  // namespace assay::run
