#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "yaml/document.h"

namespace assay::config {

// Config files an experiment names: configs/<folder>/NAME.yaml, or a path ending in .yaml that is
// relative to the experiment file.
class Presets {
 public:
  Presets(std::filesystem::path configs, std::filesystem::path experiment_folder);

  // Names that `folder` offers, sorted.
  std::vector<std::string> names(const std::string& folder) const;

  // The file, always a mapping. An error without a place means there is no such file.
  Result<yaml::Node> read(const std::string& folder, const std::string& name) const;

 private:
  std::filesystem::path configs_;
  std::filesystem::path experiment_folder_;
};

}  // namespace assay::config
