#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "compare/pairing.h"
#include "store/records/identity.h"

namespace assay::compare {
namespace {

using nlohmann::json;

// Named facts of one side in display order, each with its values.
class Facts {
 public:
  void add(const std::string& name, const std::string& value) {
    const auto [at, added] = values_.try_emplace(name);
    if (added) names_.push_back(name);
    if (!value.empty()) at->second.insert(value);
  }

  void add(const std::string& name, const json& object, const char* field) {
    add(name, text_at(object, field));
  }

  // Adds the scalar fields of `object`.
  void add_fields(const std::string& prefix, const json& object) {
    if (!object.is_object()) return;
    for (const auto& [name, value] : object.items()) {
      if (!value.is_structured()) add(prefix + name, object, name.c_str());
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  std::set<std::string> values(const std::string& name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? std::set<std::string>() : at->second;
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::set<std::string>> values_;
};

constexpr std::string_view of_environment = "environment ";
constexpr const char* not_set = "not set";

// Adds that a session had not set a variable of the other side, where it says what it had set. A
// session that does not say leaves the variable unknown.
void add_unset(const Side& side, const std::vector<std::string>& names, Facts& facts) {
  for (const store::Run& run : side.runs) {
    for (int number = 0; number <= static_cast<int>(run.info.sessions.size()); ++number) {
      const json& variables =
          member_of(store::session_of(run.info, number).provenance, "environment");
      if (!variables.is_object()) continue;
      for (const std::string& name : names) {
        if (!name.starts_with(of_environment)) continue;
        if (!variables.contains(name.substr(of_environment.size()))) facts.add(name, not_set);
      }
    }
  }
}

std::string text_of(const std::set<std::string>& values) {
  constexpr std::size_t shown = 4;
  std::vector<std::string> texts(values.begin(), values.end());
  if (texts.size() <= shown) return join(texts, ", ");
  const std::size_t more = texts.size() - shown + 1;
  texts.resize(shown - 1);
  return fmt::format("{} and {} more", join(texts, ", "), more);
}

std::string gpus_of(const json& machine) {
  std::vector<std::string> names;
  for (const json& gpu : member_of(machine, "gpus")) {
    const json& name = gpu.is_object() ? member_of(gpu, "name") : gpu;
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return join(names, " + ");
}

std::string commit_of(const json& source) {
  const std::string commit = string_at(source, "commit");
  const bool changed = member_of(source, "clean") == json(false);
  return commit.substr(0, 12) + (changed && !commit.empty() ? " with uncommitted changes" : "");
}

void add_session(const store::Session& session, Facts& facts) {
  facts.add("host", session.machine, "host");
  facts.add("system", session.machine, "system");
  facts.add("CPU", session.machine, "cpu");
  facts.add("cores", session.machine, "cores");
  facts.add("GPU", gpus_of(session.machine));
  facts.add("GPU driver", session.machine, "gpu_driver");
  facts.add("commit", commit_of(member_of(session.provenance, "source")));
  facts.add("fingerprint", session.provenance, "fingerprint");
  facts.add_fields(std::string(of_environment), member_of(session.provenance, "environment"));
}

void add_run(const store::RunInfo& info, Facts& facts) {
  facts.add("experiment", info.experiment);
  add_session(store::session_of(info, 0), facts);
  for (const store::Session& session : info.sessions) add_session(session, facts);
}

void add_case(const store::CaseResult& result, Facts& facts) {
  constexpr std::size_t shown = 12;
  facts.add("build", result.build.substr(0, shown));
  for (const auto& [name, version] : result.facts.versions)
    facts.add(name, assay::to_text(version));
  for (const auto& [name, value] : result.parameters) {
    if (name.starts_with("measure.")) facts.add(name, assay::to_text(value));
  }
  for (const store::Series& series : result.series) {
    if (!series.clock.empty()) facts.add("clock", series.clock);
  }
}

}  // namespace

std::vector<Difference> differences(const Side& a, const Side& b,
                                    const std::vector<CasePair>& pairs) {
  Facts of_a, of_b;
  for (const store::Run& run : a.runs) add_run(run.info, of_a);
  for (const store::Run& run : b.runs) add_run(run.info, of_b);
  for (const CasePair& pair : pairs) {
    if (pair.a.empty() || pair.b.empty()) continue;
    for (const store::CaseResult* result : pair.a) add_case(*result, of_a);
    for (const store::CaseResult* result : pair.b) add_case(*result, of_b);
  }
  std::vector<std::string> names = of_a.names();
  for (const std::string& name : of_b.names()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  add_unset(a, names, of_a);
  add_unset(b, names, of_b);
  std::vector<Difference> found;
  for (const std::string& name : names) {
    const auto a_values = of_a.values(name), b_values = of_b.values(name);
    if (a_values != b_values) found.push_back({name, text_of(a_values), text_of(b_values)});
  }
  return found;
}

}  // namespace assay::compare
