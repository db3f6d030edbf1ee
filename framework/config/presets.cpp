#include "config/presets.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay::config {

namespace fs = std::filesystem;

Presets::Presets(fs::path configs, fs::path experiment_folder)
    : configs_(std::move(configs)), experiment_folder_(std::move(experiment_folder)) {}

std::vector<std::string> Presets::names(const std::string& folder) const {
  return yaml::names_in(configs_ / folder);
}

Result<yaml::Node> Presets::read(const std::string& folder, const std::string& name) const {
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
  auto document = yaml::parse_file(path.string());
  if (document && !document->is_mapping()) {
    return fail_at(document->where, "a config must be a mapping of names to values");
  }
  return document;
}

}  // namespace assay::config
