#include "config/read/case_entries.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::config {
namespace {

using Sort = Vocabulary::Meaning::Sort;

void set_choice(const std::string& name, const Choice& choice,
                std::map<std::string, Value>& parameters) {
  std::erase_if(parameters, [&](const auto& entry) { return entry.first.starts_with(name + "."); });
  parameters[name] = choice.value;
  for (const auto& [option, value] : choice.options) parameters[option] = value;
}

}  // namespace

void CaseEntryReader::read(Experiment& experiment) {
  for (const yaml::Node& entry : request_.exclude) read_exclude(entry, experiment.exclude);
  for (const yaml::Node& entry : request_.include) {
    if (auto parameters = read_include(entry, experiment)) {
      experiment.include.push_back(std::move(*parameters));
      std::set<std::string>& named = experiment.include_named.emplace_back();
      for (const auto& [key, value] : entry.entries) named.insert(key.text);
    }
  }
}

bool CaseEntryReader::known_names(const yaml::Node& entry) {
  bool known = !entry.entries.empty();
  if (!known) diagnostics_.add(entry.where, "the entry names nothing");
  for (const auto& [key, value] : entry.entries) {
    if (vocabulary_.find(key.text).sort != Sort::unknown) continue;
    diagnostics_.add(key.where, vocabulary_.objection(key.text));
    known = false;
  }
  return known;
}

void CaseEntryReader::read_exclude(const yaml::Node& entry, std::vector<Parameters>& excluded) {
  constexpr std::size_t most = 100'000;
  if (!known_names(entry)) return;
  std::vector<Parameters> matches = {{}};
  for (const auto& [key, value] : entry.entries) {
    std::vector<Value> values;
    for (const yaml::Node& item : value.one_or_more()) {
      if (auto checked = axes_.check(key.text, item)) values.push_back(std::move(*checked));
    }
    if (values.size() * matches.size() + excluded.size() > most) {
      diagnostics_.add(entry.where, fmt::format("exclude has more than {} combinations", most),
                       "--filter takes conditions such as 'seq_len > 4096'");
      return;
    }
    std::vector<Parameters> extended;
    for (const Parameters& match : matches) {
      for (const Value& matched : values) {
        extended.push_back(match);
        extended.back()[key.text] = matched;
      }
    }
    matches = std::move(extended);
  }
  excluded.insert(excluded.end(), matches.begin(), matches.end());
}

std::optional<CaseEntryReader::Parameters> CaseEntryReader::read_include(
    const yaml::Node& entry, const Experiment& experiment) {
  if (!known_names(entry)) return std::nullopt;
  const std::size_t diagnostics_before = diagnostics_.size();
  Parameters parameters = experiment.fixed;
  std::vector<std::pair<std::string, Value>> option_axes;
  for (const Axis& axis : experiment.matrix) {
    for (std::size_t i = 0; i < axis.names.size(); ++i) {
      const Choice& first = axis.rows[0][i];
      if (vocabulary_.find(axis.names[i]).sort == Sort::option) {
        option_axes.emplace_back(axis.names[i], first.value);
      } else {
        set_choice(axis.names[i], first, parameters);
      }
    }
  }
  for (const auto& [key, value] : entry.entries) {
    const Vocabulary::Meaning meaning = vocabulary_.find(key.text);
    if (meaning.sort == Sort::kind) set_kind(key.text, value, entry, parameters);
    if (!meaning.info) continue;
    if (auto checked = checker_.check(key.text, value, *meaning.info)) {
      parameters[key.text] = std::move(*checked);
    }
  }
  for (const auto& [name, value] : option_axes) {
    if (option_of(parameters, vocabulary_.find(name))) parameters[name] = value;
  }
  for (const auto& [key, value] : entry.entries) {
    const Vocabulary::Meaning meaning = vocabulary_.find(key.text);
    if (meaning.sort == Sort::option) set_option(meaning, key, value, parameters);
  }
  if (diagnostics_.size() > diagnostics_before) return std::nullopt;
  return parameters;
}

void CaseEntryReader::set_kind(const std::string& kind, const yaml::Node& value,
                               const yaml::Node& entry, Parameters& parameters) {
  std::vector<std::string> given_beside;
  for (const auto& [key, ignored] : entry.entries) given_beside.push_back(key.text);
  const std::vector<Choice> choices = axes_.variants().read(kind, value, given_beside);
  if (choices.size() == 1) set_choice(kind, choices[0], parameters);
  if (choices.size() > 1) {
    diagnostics_.add(value.where, fmt::format("{}: an entry of include is one case", kind),
                     "give one value here, or write an entry for each");
  }
}

void CaseEntryReader::set_option(const Vocabulary::Meaning& option, const yaml::Node& key,
                                 const yaml::Node& value, Parameters& parameters) {
  const ParameterInfo* info = option_of(parameters, option);
  if (!info) {
    diagnostics_.add(key.where, fmt::format("{} '{}' has no option '{}'", option.kind,
                                            to_text(parameters[option.kind]), option.option));
  } else if (auto checked = checker_.check(key.text, value, *info)) {
    parameters[key.text] = std::move(*checked);
  }
}

const ParameterInfo* CaseEntryReader::option_of(const Parameters& parameters,
                                                const Vocabulary::Meaning& option) const {
  const auto variant = parameters.find(option.kind);
  if (variant == parameters.end()) return nullptr;
  const auto* plugin = vocabulary_.variant(option.kind, to_text(variant->second));
  return plugin ? find_option(*plugin, option.option) : nullptr;
}

}  // namespace assay::config
