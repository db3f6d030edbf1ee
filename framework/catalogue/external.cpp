#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <type_traits>
#include <variant>

#include "base/text.h"
#include "catalogue/catalogue.h"
#include "catalogue/names.h"
#include "yaml/document.h"
#include "yaml/values.h"

namespace assay::catalogue {

namespace {

const std::vector<std::string> descriptor_keys = {"kind",      "name",    "description", "command",
                                                  "workloads", "devices", "turns",       "options"};
const std::vector<std::string> option_keys = {"default", "description", "minimum", "maximum",
                                              "choices"};

class DescriptorReader {
 public:
  DescriptorReader(const yaml::Node& root, const std::filesystem::path& file)
      : root_(root), file_(file) {}

  Result<PluginInfo> read() {
    if (!root_.is_mapping()) {
      return fail_at(root_.where, "a descriptor is a mapping",
                     "known keys: " + join(descriptor_keys, ", "));
    }
    look_for_unknown_keys(root_, descriptor_keys);
    PluginInfo plugin;
    plugin.file = file_.string();
    plugin.kind = required_text("kind");
    plugin.name = name();
    plugin.description = required_text("description");
    plugin.command = list("command", true);
    plugin.workloads = list("workloads", false);
    plugin.devices = list("devices", false);
    plugin.takes_turns = truth("turns");
    plugin.parameters = options();
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

  void look_for_unknown_keys(const yaml::Node& mapping, const std::vector<std::string>& known) {
    for (const auto& [key, value] : mapping.entries) {
      if (std::find(known.begin(), known.end(), key.text) == known.end()) {
        complain(key.where,
                 fmt::format("unknown key '{}'{}", key.text, suggestion(key.text, known)));
      }
    }
  }

  std::vector<ParameterInfo> options() {
    std::vector<ParameterInfo> options;
    const yaml::Node* node = root_.find("options");
    if (node == nullptr) return options;
    if (!node->is_mapping())
      complain(node->where, "'options' must be a mapping of names to options");
    for (const auto& [name, fields] : node->entries) options.push_back(option(name, fields));
    return options;
  }

  // The type follows from the default; `choices` make it a choice.
  ParameterInfo option(const yaml::Node& name, const yaml::Node& fields) {
    ParameterInfo option;
    option.name = name.text;
    look_for_unknown_keys(fields, option_keys);
    const yaml::Node* value = fields.find("default");
    if (value == nullptr || !value->is_scalar()) {
      complain(name.where, fmt::format("option '{}' needs a 'default'", name.text));
      return option;
    }
    option.default_value = yaml::to_value(*value);
    option.type = std::visit(
        [](const auto& held) {
          using Held = std::decay_t<decltype(held)>;
          return std::is_same_v<Held, bool>           ? ParameterType::boolean
                 : std::is_same_v<Held, std::int64_t> ? ParameterType::integer
                 : std::is_same_v<Held, double>       ? ParameterType::real
                                                      : ParameterType::text;
        },
        option.default_value);
    if (const yaml::Node* text = fields.find("description")) option.description = text->text;
    option.minimum = bound(fields, "minimum");
    option.maximum = bound(fields, "maximum");
    if (const yaml::Node* choices = fields.find("choices")) {
      for (const yaml::Node& choice : choices->items) option.choices.push_back(choice.text);
      if (std::find(option.choices.begin(), option.choices.end(), value->text) ==
          option.choices.end()) {
        complain(choices->where,
                 fmt::format("'choices' must be a list of text that contains the default '{}'",
                             value->text));
      }
      option.type = ParameterType::choice;
      option.default_value = value->text;
    }
    return option;
  }

  std::optional<double> bound(const yaml::Node& fields, std::string_view key) {
    const yaml::Node* node = fields.find(key);
    if (node == nullptr) return {};
    const Value value = yaml::to_value(*node);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    complain(node->where, fmt::format("'{}' is a number", key));
    return {};
  }

  bool truth(std::string_view key) {
    const yaml::Node* node = root_.find(key);
    if (node == nullptr) return false;
    const Value value = yaml::to_value(*node);
    if (const auto* whether = std::get_if<bool>(&value)) return *whether;
    complain(node->where, fmt::format("'{}' is true or false", key));
    return false;
  }

  std::string required_text(std::string_view key) {
    const yaml::Node* node = root_.find(key);
    if (node == nullptr || !node->is_scalar() || node->text.empty()) {
      complain(node ? node->where : root_.where, fmt::format("'{}' must be given as text", key));
      return {};
    }
    return node->text;
  }

  std::string name() {
    std::string name = required_text("name");
    if (name.empty() || is_plugin_name(name))
      return name;  // required_text has refused an empty one
    complain(root_.find("name")->where,
             fmt::format("'{}' cannot name a variant: {}", name, plugin_name_rule));
    return {};
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

  // A word that names a file beside the descriptor becomes its path.
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
