#include "store/renames/renames.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/renamed_variants.h"
#include "base/text.h"
#include "store/renames/names_in_text.h"

namespace assay::store {
namespace {

using nlohmann::json;

constexpr std::string_view set_option = "--set ", filter_option = "--filter ",
                           case_option = "--case ";

// Whether it changed.
bool replace(std::string& text, std::string now) {
  const bool changes = text != now;
  text = std::move(now);
  return changes;
}

bool rename_sentence(std::string& text) { return replace(text, with_new_words(text)); }

bool rename_facts(CaseFacts& facts) {
  bool changed = rename_sentence(facts.memory.leak);
  if (facts.interleaved && facts.interleaved->with) {
    for (auto& [letter, other] : *facts.interleaved->with) {
      changed = replace(other, with_new_assignments(other)) || changed;
    }
  }
  for (Mark& mark : facts.marks) changed = rename_sentence(mark.reason) || changed;
  for (auto* sentences : {&facts.unverified, &facts.left_behind}) {
    for (auto& [of, sentence] : *sentences) changed = rename_sentence(sentence) || changed;
  }
  for (auto& [rank, of_rank] : facts.ranks) changed = rename_facts(of_rank) || changed;
  return changed;
}

std::string renamed_setting(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos) return setting;
  const std::string name(trim(std::string_view(setting).substr(0, equals)));
  return setting.substr(0, equals + 1) + with_new_variants(setting.substr(equals + 1), name);
}

// The beginning of a key. Between 6 and 12 digits may tell cases apart; 12 do.
std::string renamed_key(const std::string& beginning, const NewKeys& keys) {
  constexpr std::size_t shortest = 6, usual = 12;
  const auto found = keys.lower_bound(beginning);
  const bool is_one =
      beginning.size() >= shortest && found != keys.end() && found->first.starts_with(beginning);
  return is_one ? found->second.substr(0, std::max(beginning.size(), usual)) : beginning;
}

std::string renamed_choice(const std::string& choice, const NewKeys& keys) {
  if (choice.find_first_not_of("0123456789abcdef,") != std::string::npos) {
    return with_new_comparisons(choice);
  }
  std::vector<std::string> parts = split(choice, ',');
  for (std::string& part : parts) part = renamed_key(part, keys);
  return join(parts, ",");
}

std::string renamed_override(const std::string& override, const NewKeys& keys) {
  const auto value = [&](std::string_view option) { return override.substr(option.size()); };
  if (override.starts_with(set_option)) {
    return std::string(set_option) + renamed_setting(value(set_option));
  }
  if (override.starts_with(filter_option)) {
    return std::string(filter_option) + with_new_comparisons(value(filter_option));
  }
  if (override.starts_with(case_option)) {
    return std::string(case_option) + renamed_choice(value(case_option), keys);
  }
  return override;
}

// Calls `rename` with the member where there is one.
template <class Rename>
void rename_member(json& object, const char* name, const Rename& rename) {
  if (const auto member = object.find(name); member != object.end()) rename(*member);
}

void rename_yaml(json& text) {
  if (text.is_string()) text = with_new_variants(text.get<std::string>());
}

void rename_values(json& values) {
  if (!values.is_object()) return;
  for (auto& [name, value] : values.items()) {
    if (!value.is_string()) continue;
    const std::string_view now = name_now(name, value.get_ref<const std::string&>());
    if (!now.empty()) value = now;
  }
}

void rename_keys(json& cases, const NewKeys& keys, bool drop_others) {
  if (!cases.is_array()) return;
  json renamed = json::array();
  for (const json& key : cases) {
    const auto found = key.is_string() ? keys.find(key.get<std::string>()) : keys.end();
    if (found != keys.end()) {
      renamed.push_back(found->second);
    } else if (!drop_others) {
      renamed.push_back(key);
    }
  }
  cases = std::move(renamed);
}

void rename_chapter(json& chapter, const NewKeys& keys) {
  if (!chapter.is_object()) return;
  const json before = chapter;
  rename_member(chapter, "experiment_text", rename_yaml);
  rename_member(chapter, "overrides", [&](json& overrides) {
    if (!overrides.is_array()) return;
    for (json& override : overrides) {
      if (override.is_string()) override = renamed_override(override.get<std::string>(), keys);
    }
  });
  const bool plans_others = chapter != before;
  rename_member(chapter, "report", rename_yaml);
  rename_member(chapter, "left_out", rename_values);
  rename_member(chapter, "settings", rename_values);
  rename_member(chapter, "cases", [&](json& cases) { rename_keys(cases, keys, plans_others); });
}

void rename_provenance(json& provenance, const std::string& text_before,
                       const std::string& text_now, const NewKeys& keys) {
  if (!provenance.is_object()) return;
  if (string_at(provenance, "experiment_sha256") == sha256_hex(text_before)) {
    provenance["experiment_sha256"] = sha256_hex(text_now);
  }
  if (!member_of(member_of(provenance, "suite"), "chapters").is_array()) return;
  for (json& chapter : provenance["suite"]["chapters"]) rename_chapter(chapter, keys);
}

}  // namespace

bool rename_variants(CaseResult& result) {
  const bool follows = result.key == sha256_hex(result.key_text);
  bool changed = replace(result.key_text, with_new_assignments(result.key_text));
  if (changed && follows) result.key = sha256_hex(result.key_text);
  for (auto& [name, value] : result.parameters) {
    const auto* text = std::get_if<std::string>(&value);
    const std::string_view now = text == nullptr ? std::string_view() : name_now(name, *text);
    if (now.empty()) continue;
    value = std::string(now);
    changed = true;
  }
  changed = rename_sentence(result.reason) || changed;
  for (Series& series : result.series) changed = rename_sentence(series.reason) || changed;
  return rename_facts(result.facts) || changed;
}

void rename_variants(Session& session, const NewKeys& keys) {
  const std::string before = session.experiment_text;
  session.experiment_text = with_new_variants(before);
  for (std::string& override : session.overrides) override = renamed_override(override, keys);
  rename_provenance(session.provenance, before, session.experiment_text, keys);
}

void rename_variants(Run& run, bool sessions_are_older,
                     const std::function<bool(const CaseResult&)>& is_older) {
  NewKeys keys;
  for (CaseResult& result : run.cases) {
    const std::string key = result.key;
    if (is_older(result)) rename_variants(result);
    keys[key] = result.key;
  }
  if (!sessions_are_older) return;
  rename_variants(run.info.first, keys);
  for (Session& session : run.info.sessions) rename_variants(session, keys);
}

}  // namespace assay::store
