#include "report/page/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "report/data/interleave_fact.h"
#include "report/data/sampling_facts.h"
#include "report/document/markdown_table.h"
#include "report/page/default_recorded.h"

namespace assay::report {
namespace {

using nlohmann::json;

std::string size_at(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return "";
  const double bytes = object[key].get<double>();
  return bytes > 0 ? human_size(bytes) : "";
}

std::string with(const std::vector<std::string>& parts, std::string_view separator = ", ") {
  std::vector<std::string> present;
  std::copy_if(parts.begin(), parts.end(), std::back_inserter(present),
               [](const std::string& part) { return !part.empty(); });
  return join(present, separator);
}

json gpu_list(const json& machine) {
  const bool known = machine.is_object() && machine.contains("gpus") && machine["gpus"].is_array();
  return known ? machine["gpus"] : json::array();
}

// Equal GPUs are counted: "2 × NAME".
std::string gpus_of(const json& machine) {
  std::map<std::string, int> counts;
  for (const json& gpu : gpu_list(machine)) {
    const std::string capability = text_at(gpu, "compute_capability");
    ++counts[with({text_at(gpu, "name"), size_at(gpu, "memory_bytes"),
                   capability.empty() ? "" : "compute capability " + capability})];
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : counts)
    names.push_back(count > 1 ? fmt::format("{} × {}", count, name) : name);
  return join(names, "; ");
}

std::string scalars_of(const json& object) {
  std::vector<std::string> parts;
  if (!object.is_object()) return "";
  for (const auto& [key, value] : object.items()) {
    if (!value.is_structured() && !value.is_null())
      parts.push_back(key + " " + text_at(object, key.c_str()));
  }
  return join(parts, ", ");
}

std::string versions_of(const store::Run& run) {
  for (const store::CaseResult& result : run.cases) {
    std::vector<std::string> versions;
    for (const auto& [name, version] : result.facts.versions) {
      const bool shown = name != "fingerprint" && !std::holds_alternative<std::monostate>(version);
      if (shown) versions.push_back(name + " " + to_text(version));
    }
    if (!versions.empty()) return join(versions, ", ");
  }
  return scalars_of(member_of(run.info.first.provenance, "versions"));
}

std::string source_of(const json& provenance) {
  if (!provenance.is_object()) return "";
  if (const std::string file = text_at(provenance, "imported_from"); !file.empty())
    return "imported from " + file;
  if (!provenance.contains("source") || !provenance["source"].is_object()) return "";
  const std::string commit = text_at(provenance["source"], "commit");
  if (commit.empty()) return "";
  const bool clean = text_at(provenance["source"], "clean") != "false";
  return "assay " + commit.substr(0, 12) + (clean ? "" : " with uncommitted changes");
}

constexpr std::string_view setting_prefix = "measure.";

// Stored durations are in s, the target is a fraction.
std::string setting_text(const std::string& name, const Value& value) {
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr) return to_text(value);
  if (name == "measure.max_time" || name == "measure.timeout")
    return fmt::format("{:.6g} s", *number);
  if (name == "measure.target" && *number > 0) return fmt::format("{:.6g} %", 100 * *number);
  return to_text(value);
}

std::string settings_of(const store::Run& run) {
  std::map<std::string, const Value*> first;
  std::set<std::string> differing;
  std::vector<std::string> clocks;
  std::set<std::string> levels;
  bool self_timed = false;
  const std::set<std::string> idle = idle_settings(run);
  for (const store::CaseResult& result : run.cases) {
    for (const auto& [name, value] : result.parameters) {
      if (!name.starts_with(setting_prefix) || name == "measure.clock") continue;
      if (name == "measure.integrity") continue;  // what the worker says of it comes last
      if (idle.contains(name)) continue;
      const auto [at, added] = first.try_emplace(name, &value);
      if (added || *at->second == value) continue;
      if (setting_text(name, *at->second) != setting_text(name, value)) differing.insert(name);
    }
    self_timed = self_timed ||
                 std::ranges::count(result.facts.marks, store::self_timed, &store::Mark::mark) > 0;
    for (const auto& [pass, verified] : result.facts.verification) {
      if (!verified.timed.integrity.empty()) levels.insert(verified.timed.integrity);
    }
    for (const store::Series& series : result.series) {
      if (!series.clock.empty() && !std::count(clocks.begin(), clocks.end(), series.clock)) {
        clocks.push_back(series.clock);
      }
    }
  }
  std::vector<std::string> parts;
  for (const auto& [name, value] : first) {
    const std::string text = setting_text(name, *value);
    if (differing.contains(name) || text.empty()) continue;
    parts.push_back(name.substr(setting_prefix.size()) + " " + text);
  }
  if (!clocks.empty()) {
    parts.push_back("clock " + join(clocks, " and "));
    const std::string integrity = "integrity " + join({levels.begin(), levels.end()}, " and ");
    parts.push_back(!levels.empty() ? integrity : self_timed ? "self-timed" : "before integrity");
  }
  return join(parts, ", ");
}

std::string outcomes_of(const store::Run& run) {
  std::map<Outcome, int> counts;
  double seconds = 0;
  for (const store::CaseResult& result : run.cases) {
    ++counts[result.outcome];
    seconds += result.wall_s;
  }
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : counts)
    parts.push_back(fmt::format("{} {}", count, to_text(outcome)));
  std::string text = fmt::format("{} case{} ({})", run.cases.size(),
                                 run.cases.size() == 1 ? "" : "s", join(parts, ", "));
  if (seconds > 0) text += " in " + human_duration(seconds);
  if (run.info.finished.empty() && !run.info.started.empty()) text += "; the run is unfinished";
  return text;
}

std::string host_of(const json& machine) {
  return with({text_at(machine, "host"), text_at(machine, "system")});
}

std::set<std::string> gpu_identities(const json& machine) {
  std::set<std::string> identities;
  for (const json& gpu : gpu_list(machine)) identities.insert(text_at(gpu, "uuid"));
  return identities;
}

// How a later session differed from the first.
std::string resumed_in(const store::Run& run, const store::Session& session, int number) {
  const store::Session& first = run.info.first;
  std::vector<std::string> other;
  const auto add_changed = [&](const std::string& now, const std::string& then) {
    if (now != then && !now.empty()) other.push_back(now);
  };
  add_changed(host_of(session.machine), host_of(first.machine));
  if (gpus_of(session.machine) != gpus_of(first.machine)) {
    add_changed(gpus_of(session.machine), "");
  } else if (gpu_identities(session.machine) != gpu_identities(first.machine)) {
    other.push_back("another " + gpus_of(session.machine));
  }
  add_changed(source_of(session.provenance), source_of(first.provenance));
  if (session.experiment_text != first.experiment_text) other.push_back("another experiment text");
  if (session.overrides != first.overrides) {
    other.push_back(session.overrides.empty() ? "no overrides"
                                              : "overrides " + join(session.overrides, " "));
  }
  if (other.empty()) other.push_back("in an environment that differs in other ways");
  const auto cases = std::count_if(run.cases.begin(), run.cases.end(),
                                   [&](const auto& result) { return result.session == number; });
  return fmt::format("{} case{}: {}", cases, cases == 1 ? "" : "s", join(other, ", "));
}

void add(std::vector<std::string>& items, std::string_view name, const std::string& text) {
  if (!text.empty()) items.push_back(fmt::format("**{}**: {}", name, escape_cell(text)));
}

// What cases sent and the host did not keep: the first three sentences.
std::string left_out_of(const store::Run& run) {
  constexpr std::size_t shown = 3;
  std::vector<std::string> sentences;
  for (const store::CaseResult& result : run.cases) {
    for (const std::string& sentence : result.facts.left_out) {
      if (!std::count(sentences.begin(), sentences.end(), sentence)) sentences.push_back(sentence);
    }
  }
  const std::size_t all = sentences.size();
  if (all > shown) sentences.resize(shown);
  return join(sentences, "; ") + (all > shown ? fmt::format("; and {} more", all - shown) : "");
}

// What the run is and what it ran on.
void add_surroundings(const store::Run& run, std::vector<std::string>& items) {
  const json& machine = run.info.first.machine;
  const std::string cores = text_at(machine, "cores");
  add(items, "run", with({run.info.name, run.info.started}));
  add(items, "cases", outcomes_of(run));
  add(items, "host", host_of(machine));
  add(items, "CPU",
      with({text_at(machine, "cpu"), cores.empty() ? "" : cores + " cores",
            size_at(machine, "memory_bytes")}));
  const std::string driver = text_at(machine, "gpu_driver");
  add(items, "GPU", with({gpus_of(machine), driver.empty() ? "" : "driver " + driver}));
  add(items, "versions", with({versions_of(run), source_of(run.info.first.provenance)}));
  add(items, "environment", scalars_of(member_of(run.info.first.provenance, "environment")));
}

void add_measuring(const store::Run& run, std::vector<std::string>& items) {
  add(items, "measured with", settings_of(run));
  add(items, "samples", join(sampling_facts(run), ". "));
  if (const auto passes = untimed_passes(run); !passes.empty()) {
    add(items, "not timed", join(passes, ", ") + ": run once and recorded");
  }
  add(items, "interleaved", interleave_fact(run));
  add(items, "left out", left_out_of(run));
}

void add_sessions(const store::Run& run, std::vector<std::string>& items) {
  add(items, "overrides", join(run.info.first.overrides, " "));
  for (std::size_t i = 0; i < run.info.sessions.size(); ++i) {
    add(items, "resumed", resumed_in(run, run.info.sessions[i], static_cast<int>(i) + 1));
  }
}

List facts_of(const store::Run& run) {
  std::vector<std::string> items;
  add_surroundings(run, items);
  add_measuring(run, items);
  add_sessions(run, items);
  return List{std::move(items)};
}

}  // namespace

std::string title_of(const std::vector<const store::Run*>& sources) {
  std::vector<std::string> names;
  for (const store::Run* run : sources) {
    const std::string& name = !run->info.experiment.empty() ? run->info.experiment : run->info.name;
    if (!std::count(names.begin(), names.end(), name)) names.push_back(name);
  }
  return join(names, " and ");
}

std::vector<Section> questions_of(const std::vector<const store::Run*>& sources) {
  std::vector<Section> sections;
  std::vector<std::string> questions;
  for (const store::Run* run : sources) {
    const std::string& title = run->info.title;
    if (!title.empty() && !std::count(questions.begin(), questions.end(), title))
      questions.push_back(title);
  }
  for (const std::string& question : questions) sections.push_back(Paragraph{question});
  return sections;
}

std::vector<Section> environment_sections(const std::vector<const store::Run*>& sources) {
  std::vector<Section> sections;
  sections.push_back(Heading{2, "Environment"});
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources.size() > 1) sections.push_back(Heading{3, fmt::format("Source {}", i)});
    sections.push_back(facts_of(*sources[i]));
  }
  std::vector<std::string> shown;
  for (const store::Run* run : sources) {
    const std::string& text = run->info.first.experiment_text;
    if (text.empty() || std::count(shown.begin(), shown.end(), text)) continue;
    shown.push_back(text);
    sections.push_back(experiment_details("Experiment", run->info.first));
  }
  return sections;
}

Details experiment_details(const std::string& what, const store::Session& session) {
  // An absolute path means nothing on a reader's machine.
  const std::filesystem::path path(session.experiment_file);
  const std::string file = path.is_absolute() ? path.filename().string() : path.string();
  return {file.empty() ? what : what + ": " + file, "yaml", session.experiment_text};
}

List surroundings_of(const store::Run& run) {
  std::vector<std::string> items;
  add_surroundings(run, items);
  add_sessions(run, items);
  return List{std::move(items)};
}

List measuring_facts_of(const store::Run& run) {
  std::vector<std::string> items;
  add(items, "cases", outcomes_of(run));
  add_measuring(run, items);
  add(items, "overrides", join(run.info.first.overrides, " "));
  return List{std::move(items)};
}

}  // namespace assay::report
