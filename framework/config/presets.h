#pragma once

#include <filesystem>
#include <map>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace assay::config {

// Config files an experiment names: configs/<folder>/NAME.yaml, or a path ending in .yaml that is
// relative to the experiment file.
class Presets {
 public:
  // `known`: by "folder/name", before the files.
  Presets(std::filesystem::path configs, std::filesystem::path experiment_folder,
          std::map<std::string, nlohmann::json> known = {});

  // Names that `folder` offers, sorted.
  std::vector<std::string> names(const std::string& folder) const;

  // The file as JSON, always an object. An error without a place means there is no such file.
  Result<nlohmann::json> read(const std::string& folder, const std::string& name) const;

 private:
  std::filesystem::path configs_;
  std::filesystem::path experiment_folder_;
  std::map<std::string, nlohmann::json> known_;
};

}  // namespace assay::config
