#include "config/shipped_catalogue.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text.h"

namespace assay::config {

namespace {

const std::filesystem::path source_folder = ASSAY_SOURCE_DIR;

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return std::move(*result);
}

catalogue::Catalogue read_shipped() {
  const std::string text = value_of(read_file(shipped_plugins_file().string()));
  auto plugins = value_of(catalogue::catalogue_from_json(nlohmann::json::parse(text))).plugins;
  for (auto& external : value_of(catalogue::read_external(source_folder / "tools" / "peers"))) {
    plugins.push_back(std::move(external));
  }
  return value_of(catalogue::assemble("shipped", std::move(plugins)));
}

}  // namespace

std::filesystem::path shipped_plugins_file() {
  return source_folder / "tests" / "config" / "shipped_plugins.json";
}

const catalogue::Catalogue& shipped_catalogue() {
  static const catalogue::Catalogue catalogue = read_shipped();
  return catalogue;
}

Environment shipped_environment() { return {&shipped_catalogue(), source_folder / "configs"}; }

}  // namespace assay::config
