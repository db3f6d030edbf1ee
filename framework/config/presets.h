#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "yaml/document.h"

namespace assay::config {

// Config files: configs/<folder>/NAME.yaml, or a .yaml path relative to the experiment file.
class Presets {
 public:
  Presets(std::filesystem::path configs, std::filesystem::path experiment_folder);

  // Sorted.
  std::vector<std::string> names(const std::string& folder) const;

  // A mapping. An error without a place means that the file does not exist.
  Result<yaml::Node> read(const std::string& folder, const std::string& name) const;

 private:
  std::filesystem::path configs_;
  std::filesystem::path experiment_folder_;
};

}  // namespace assay::config
