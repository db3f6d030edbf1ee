#include "config/presets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "yaml/values.h"

namespace assay::config {

namespace fs = std::filesystem;

Presets::Presets(fs::path configs, fs::path experiment_folder,
                 std::map<std::string, nlohmann::json> known)
    : configs_(std::move(configs)),
      experiment_folder_(std::move(experiment_folder)),
      known_(std::move(known)) {}

std::vector<std::string> Presets::names(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(configs_ / folder, ignored)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<nlohmann::json> Presets::read(const std::string& folder, const std::string& name) const {
  const auto known_config = known_.find(folder + "/" + name);
  if (known_config != known_.end() && known_config->second.is_object()) {
    return known_config->second;
  }
  fs::path path;
  if (name.ends_with(".yaml")) {
    path = experiment_folder_ / name;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      return fail(ExitCode::bad_input, fmt::format("the file '{}' does not exist", path.string()));
    }
  } else {
    const std::vector<std::string> known = names(folder);
    if (!std::binary_search(known.begin(), known.end(), name)) {
      return fail(
          ExitCode::bad_input,
          fmt::format("there is no '{}' in configs/{}{}", name, folder, suggestion(name, known)),
          "or give the path of a .yaml file");
    }
    path = configs_ / folder / (name + ".yaml");
  }
  const auto document = yaml::parse_file(path.string());
  if (!document) return tl::unexpected(document.error());
  if (!document->is_mapping()) return fail_at(document->where, "a config is a mapping of names");
  return yaml::to_json(*document);
}

}  // namespace assay::config
