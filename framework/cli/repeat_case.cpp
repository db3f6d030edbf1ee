#include "cli/repeat_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/shell_command.h"
#include "base/text.h"
#include "cli/case_choice.h"
#include "run/process/environment.h"
#include "store/records/identity.h"

namespace assay::cli {

namespace {

using nlohmann::json;

// Adds "OMP_NUM_THREADS=8" for a variable of the session whose value is stored whole and a note for
// the others, and "-u OMP_NUM_THREADS" for one that is set only now. Older sessions do not say
// which values are whole: then it adds nothing.
void add_environment(const json& provenance, const std::vector<std::string>& present,
                     RepeatedCase& repeated) {
  const json& variables = member_of(provenance, "environment");
  const json& shortened = member_of(provenance, "environment_shortened");
  if (!variables.is_object() || !shortened.is_array()) return;
  for (const std::string& name : present) {
    if (!run::changes_measurements(name) || variables.contains(name)) continue;
    repeated.words.insert(repeated.words.end(), {"-u", name});
  }
  std::vector<std::string> not_whole;
  for (const auto& [name, value] : variables.items()) {
    if (!value.is_string() || !run::changes_measurements(name)) continue;
    const bool whole = std::find(shortened.begin(), shortened.end(), name) == shortened.end();
    (whole ? repeated.words : not_whole).push_back(name + "=" + value.get<std::string>());
  }
  if (!repeated.words.empty()) repeated.words.insert(repeated.words.begin(), "env");
  if (!not_whole.empty()) {
    repeated.notes.push_back("also set these, with their folders, which are not stored: " +
                             join(not_whole, " "));
  }
}

// Adds the names in "attention=tiled attention.block_m=64".
void add_names(const std::string& values, std::set<std::string>& names) {
  for (const std::string& word : split(values, ' ')) {
    if (const auto equals = word.find('='); equals != std::string::npos) {
      names.insert(word.substr(0, equals));
    }
  }
}

store::Parameters without(store::Parameters parameters, const std::set<std::string>& names) {
  std::erase_if(parameters, [&](const auto& parameter) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return parameter.first == name || parameter.first.starts_with(name + ".");
    });
  });
  return parameters;
}

bool was_interleaved(const store::CaseResult& result) {
  return result.facts.interleaved && result.facts.interleaved->with;
}

// The case's interleaved group in the run's order; empty where it was measured apart or the run
// lacks a member.
std::vector<const store::CaseResult*> interleave_group(const store::Run& run,
                                                       const store::CaseResult& result) {
  if (!was_interleaved(result)) return {};
  const std::map<std::string, std::string>& others = *result.facts.interleaved->with;
  std::set<std::string> names;
  for (const auto& [letter, other] : others) add_names(other, names);
  const store::Parameters shared = without(result.parameters, names);
  std::vector<const store::CaseResult*> members;
  for (const store::CaseResult& each : run.cases) {
    if (was_interleaved(each) && each.session == result.session &&
        without(each.parameters, names) == shared) {
      members.push_back(&each);
    }
  }
  return members.size() == others.size() + 1 ? members : std::vector<const store::CaseResult*>();
}

std::string choice_of(const store::Run& run, const store::CaseResult& result,
                      RepeatedCase& repeated) {
  const auto members = interleave_group(run, result);
  if (members.empty()) {
    if (was_interleaved(result)) {
      repeated.notes.emplace_back(
          "measures the case apart: the run lacks some of the cases it took turns with");
    }
    return short_key(run, result);
  }
  repeated.notes.push_back(fmt::format(
      "measures the case in turns with the same {} as before; its own key alone after --case would "
      "measure it apart",
      members.size() == 2 ? "case" : "cases"));
  std::vector<std::string> keys;
  for (const store::CaseResult* member : members) keys.push_back(short_key(run, *member));
  return join(keys, ",");
}

}  // namespace

RepeatedCase repeat_case(const store::Run& run, const store::CaseResult& result,
                         const std::string& results, const std::vector<std::string>& present) {
  const json& provenance = store::session_of(run.info, result.session).provenance;
  RepeatedCase repeated;
  add_environment(provenance, present, repeated);
  std::vector<std::string>& words = repeated.words;
  words.insert(words.end(), {called_as(), "run"});
  // An imported run may be called --help, which needs the equals sign.
  const auto add = [&](const char* option, const std::string& value) {
    if (value.starts_with('-')) {
      words.push_back(fmt::format("{}={}", option, value));
    } else {
      words.insert(words.end(), {option, value});
    }
  };
  add("--experiment-of", run.info.name);
  add("--case", choice_of(run, result, repeated));
  if (!results.empty()) add("--results", results);
  if (const json& plugins = member_of(provenance, "plugins"); plugins.is_array()) {
    for (const json& file : plugins) {
      if (file.is_string()) add("--plugin", file.get<std::string>());
    }
  }
  const bool had_permission =
      member_of(provenance, "allow_external") == true || !result.facts.permission.empty();
  if (had_permission) words.emplace_back("--allow-external");
  return repeated;
}

}  // namespace assay::cli
