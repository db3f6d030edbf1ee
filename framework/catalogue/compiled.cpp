#include "catalogue/compiled.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace assay::catalogue {

namespace {

std::vector<Value> allowed_values(const ParameterInfo& option) {
  if (option.type == ParameterType::integer) return {option.values.begin(), option.values.end()};
  return {option.choices.begin(), option.choices.end()};
}

std::string as_definition(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return assay::to_text(value);
  std::string literal = "\"";
  for (const char letter : *text) {
    if (letter == '"' || letter == '\\') literal += '\\';
    literal += letter;
  }
  return literal + '"';
}

}  // namespace

std::string allowed_in_words(const ParameterInfo& option) {
  std::vector<std::string> words;
  for (const Value& value : allowed_values(option)) words.push_back(assay::to_text(value));
  return join(words, ", ");
}

CompiledValues built_with(const std::vector<ParameterInfo>& parameters) {
  CompiledValues values;
  for (const ParameterInfo& option : parameters) {
    if (option.compiled) values[option.name] = option.default_value;
  }
  return values;
}

std::vector<CompiledValues> all_compiled_values(const PluginInfo& plugin) {
  std::vector<CompiledValues> all = {{}};
  for (const ParameterInfo& option : plugin.parameters) {
    if (!option.compiled) continue;
    std::vector<CompiledValues> extended;
    for (const CompiledValues& values : all) {
      for (const Value& value : allowed_values(option)) {
        extended.push_back(values);
        extended.back()[option.name] = value;
      }
    }
    all = std::move(extended);
  }
  return all;
}

std::string to_text(const CompiledValues& values) {
  std::vector<std::string> words;
  for (const auto& [name, value] : values) words.push_back(name + " " + assay::to_text(value));
  return join(words, ", ");
}

std::string definition_name(const std::string& option) {
  std::string name = "ASSAY_OPTION_";
  for (const unsigned char letter : option) {
    name += std::isalnum(letter) != 0 ? static_cast<char>(std::toupper(letter)) : '_';
  }
  return name;
}

std::vector<std::string> definitions(const CompiledValues& values) {
  std::vector<std::string> definitions;
  for (const auto& [name, value] : values) {
    definitions.push_back(definition_name(name) + "=" + as_definition(value));
  }
  return definitions;
}

void check_compiled(const PluginInfo& plugin, Error& error) {
  for (const ParameterInfo& option : plugin.parameters) {
    if (!option.compiled) continue;
    if (plugin.kind == "observer") {
      error.diagnostics.push_back(
          {{plugin.file},
           fmt::format(
               "option {} of observer '{}' cannot be compiled in: observers are not measured",
               option.name, plugin.name),
           "declare another kind of option"});
    }
    const auto allowed = allowed_values(option);
    if (std::find(allowed.begin(), allowed.end(), option.default_value) != allowed.end()) continue;
    error.diagnostics.push_back(
        {{plugin.file},
         fmt::format("{} '{}' is compiled with {} {}, which is none of its values: {}", plugin.kind,
                     plugin.name, option.name, assay::to_text(option.default_value),
                     allowed.empty() ? "it lists none" : allowed_in_words(option)),
         fmt::format("let the source define {} as one of them where it is not defined",
                     definition_name(option.name))});
  }
}

}  // namespace assay::catalogue
