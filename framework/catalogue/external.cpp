#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "catalogue/catalogue.h"
#include "yaml/document.h"

namespace assay::catalogue {

namespace {

const std::vector<std::string> descriptor_keys = {"kind", "name", "description", "command",
                                                  "workloads"};

class DescriptorReader {
 public:
  DescriptorReader(const yaml::Node& root, const std::filesystem::path& file)
      : root_(root), file_(file) {}

  Result<PluginInfo> read() {
    if (!root_.is_mapping()) {
      return fail_at(root_.where, "a descriptor is a mapping",
                     "known keys: " + join(descriptor_keys, ", "));
    }
    for (const auto& [key, value] : root_.entries) {
      if (std::find(descriptor_keys.begin(), descriptor_keys.end(), key.text) ==
          descriptor_keys.end()) {
        complain(key.where, fmt::format("unknown key '{}'{}", key.text,
                                        suggestion(key.text, descriptor_keys)));
      }
    }
    PluginInfo plugin;
    plugin.file = file_.string();
    plugin.kind = required_text("kind");
    plugin.name = required_text("name");
    plugin.description = required_text("description");
    plugin.command = list("command", true);
    plugin.workloads = list("workloads", false);
    if (!plugin.kind.empty() && !is_kind(plugin.kind)) {
      complain(root_.find("kind")->where,
               fmt::format("unknown kind '{}'{}", plugin.kind,
                           suggestion(plugin.kind, {std::begin(kinds), std::end(kinds)})));
    }
    if (!error_.diagnostics.empty()) return tl::unexpected(std::move(error_));
    resolve_command(plugin);
    return plugin;
  }

 private:
  void complain(const SourceLocation& where, std::string message) {
    error_.diagnostics.push_back({where, std::move(message), {}});
  }

  std::string required_text(std::string_view key) {
    const yaml::Node* node = root_.find(key);
    if (node == nullptr || !node->is_scalar()) {
      complain(node ? node->where : root_.where, fmt::format("'{}' must be given as text", key));
      return {};
    }
    return node->text;
  }

  std::vector<std::string> list(std::string_view key, bool required) {
    std::vector<std::string> words;
    const yaml::Node* node = root_.find(key);
    if (node == nullptr) {
      if (required) complain(root_.where, fmt::format("'{}' must be given as a list of text", key));
      return words;
    }
    for (const yaml::Node& item : node->items) words.push_back(item.text);
    if (!node->is_sequence() || words.empty()) {
      complain(node->where, fmt::format("'{}' must be a list of text", key));
    }
    return words;
  }

  // Words that name a file beside the descriptor become its full path.
  void resolve_command(PluginInfo& plugin) const {
    for (std::string& word : plugin.command) {
      const std::filesystem::path beside = file_.parent_path() / word;
      std::error_code ignored;
      if (std::filesystem::is_regular_file(beside, ignored)) word = beside.string();
    }
  }

  const yaml::Node& root_;
  std::filesystem::path file_;
  Error error_;
};

}  // namespace

Result<PluginInfo> read_descriptor(const std::filesystem::path& file) {
  const auto root = yaml::parse_file(file.string());
  if (!root) return tl::unexpected(root.error());
  return DescriptorReader(*root, file).read();
}

Result<std::vector<PluginInfo>> read_external(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<PluginInfo> plugins;
  Error error;
  for (const std::filesystem::path& file : files) {
    auto plugin = read_descriptor(file);
    if (plugin) {
      plugins.push_back(std::move(*plugin));
    } else {
      error.diagnostics.insert(error.diagnostics.end(), plugin.error().diagnostics.begin(),
                               plugin.error().diagnostics.end());
    }
  }
  if (!error.diagnostics.empty()) return tl::unexpected(std::move(error));
  return plugins;
}

}  // namespace assay::catalogue
