#include "store/records/suite.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/json.h"
#include "store/records/identity.h"
#include "store/records/json.h"

namespace assay::store {
namespace {

using nlohmann::json;

constexpr const char* provenance_field = "suite";

json chapter_to_json(const ChapterRecord& chapter) {
  return {{"name", chapter.name},
          {"title", chapter.title},
          {"text", chapter.text},
          {"experiment", chapter.experiment},
          {"named", chapter.named},
          {"file", chapter.file},
          {"experiment_text", chapter.experiment_text},
          {"report", chapter.report},
          {"overrides", chapter.overrides},
          {"presets", chapter.presets},
          {"left_out", to_json(chapter.left_out)},
          {"passes", chapter.passes},
          {"left", chapter.left},
          {"cases", chapter.cases},
          {"settings", to_json(chapter.settings)}};
}

// A chapter's name becomes a folder.
bool is_chapter_name(const std::string& name) {
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

Result<ChapterRecord> chapter_from_json(const json& from) {
  FieldReader fields(from, "chapter");
  ChapterRecord chapter;
  fields.text("name", chapter.name);
  if (!is_chapter_name(chapter.name)) fields.wrong("name", "lower-case letters, digits, _ and -");
  fields.text("title", chapter.title);
  fields.text("text", chapter.text);
  fields.text("experiment", chapter.experiment);
  fields.text("named", chapter.named);
  fields.text("file", chapter.file);
  fields.text("experiment_text", chapter.experiment_text);
  fields.text("report", chapter.report);
  fields.texts("overrides", chapter.overrides);
  fields.any("presets", chapter.presets);
  fields.object("left_out", parameters_from_json, chapter.left_out);
  fields.texts("passes", chapter.passes);
  fields.text("left", chapter.left);
  fields.texts("cases", chapter.cases);
  fields.object("settings", parameters_from_json, chapter.settings);
  return fields.finish(std::move(chapter));
}

Result<SuiteRecord> suite_from_json(const json& from) {
  FieldReader fields(from, "suite");
  SuiteRecord suite;
  fields.require("name");
  fields.text("name", suite.name);
  fields.text("title", suite.title);
  fields.text("text", suite.text);
  fields.list("chapters", chapter_from_json, suite.chapters);
  return fields.finish(std::move(suite));
}

// Keeps the order of `cases`.
void add_missing(const std::vector<std::string>& more, std::vector<std::string>& cases) {
  std::unordered_set<std::string> known(cases.begin(), cases.end());
  for (const std::string& key : more) {
    if (known.insert(key).second) cases.push_back(key);
  }
}

// The record with the most cases, which a filter has not narrowed, with the cases of all.
ChapterRecord merged_chapter(const std::vector<SuiteRecord>& newest_first,
                             const std::string& name) {
  const ChapterRecord* newest = newest_first.front().find(name);
  const ChapterRecord* whole = newest;
  for (const SuiteRecord& suite : newest_first) {
    const ChapterRecord* chapter = suite.find(name);
    if (chapter != nullptr && chapter->cases.size() > whole->cases.size()) whole = chapter;
  }
  ChapterRecord merged = *whole;
  merged.title = newest->title;
  merged.text = newest->text;
  merged.left = newest->left;
  for (const SuiteRecord& suite : newest_first) {
    if (const ChapterRecord* chapter = suite.find(name)) add_missing(chapter->cases, merged.cases);
  }
  return merged;
}

bool asks_for(const ChapterRecord& chapter, const std::string& pass) {
  return pass.empty() || chapter.passes.empty() || std::ranges::count(chapter.passes, pass) > 0;
}

// A pass that only another chapter asks for does not fail the case here.
void settle_outcome(CaseResult& result, std::size_t series_before) {
  const bool narrowed = result.series.size() < series_before;
  const bool all_ok =
      !result.series.empty() && std::ranges::all_of(result.series, [](const Series& series) {
        return series.outcome == Outcome::ok;
      });
  if (!narrowed || !all_ok) return;
  result.outcome = Outcome::ok;
  result.reason.clear();
}

CaseResult as_asked(CaseResult result, const ChapterRecord& chapter) {
  const std::size_t series_before = result.series.size();
  std::erase_if(result.series,
                [&](const Series& series) { return !asks_for(chapter, series.pass); });
  std::erase_if(result.artefacts,
                [&](const Artefact& artefact) { return !asks_for(chapter, artefact.pass); });
  settle_outcome(result, series_before);
  std::erase_if(result.facts.marks,
                [&](const Mark& mark) { return !asks_for(chapter, mark.pass); });
  if (result.facts.passes && !chapter.passes.empty()) result.facts.passes = chapter.passes;
  result.parameters.erase(chapter_parameter);
  for (const auto& [name, value] : chapter.settings) {
    if (std::holds_alternative<std::monostate>(value)) {
      result.parameters.erase(name);
    } else {
      result.parameters[name] = value;
    }
  }
  return result;
}

void make_session_of(const ChapterRecord& chapter, Session& session) {
  session.experiment_text = chapter.experiment_text;
  session.experiment_file = chapter.file;
  session.overrides = chapter.overrides;
  if (!session.provenance.is_object()) return;
  session.provenance.erase(provenance_field);
  session.provenance.erase("presets");
  session.provenance.erase("left_out");
  if (chapter.presets.is_object() && !chapter.presets.empty()) {
    session.provenance["presets"] = chapter.presets;
  }
  if (!chapter.left_out.empty()) session.provenance["left_out"] = to_json(chapter.left_out);
}

}  // namespace

const ChapterRecord* SuiteRecord::find(std::string_view chapter) const {
  const auto found = std::ranges::find_if(chapters, [&](const ChapterRecord& each) {
    return !each.name.empty() && each.name == chapter;
  });
  return found == chapters.end() ? nullptr : &*found;
}

json to_json(const SuiteRecord& suite) {
  json chapters = json::array();
  for (const ChapterRecord& chapter : suite.chapters) {
    chapters.push_back(chapter_to_json(chapter));
  }
  return {{"name", suite.name},
          {"title", suite.title},
          {"text", suite.text},
          {"chapters", std::move(chapters)}};
}

std::optional<SuiteRecord> suite_of(const Session& session) {
  const json& stored = member_of(session.provenance, provenance_field);
  if (!stored.is_object()) return std::nullopt;
  auto suite = suite_from_json(stored);
  if (!suite) return std::nullopt;
  return std::move(*suite);
}

std::optional<SuiteRecord> suite_of(const RunInfo& info) {
  std::vector<SuiteRecord> newest_first;
  for (std::size_t i = info.sessions.size() + 1; i-- > 0;) {
    if (auto suite = suite_of(session_of(info, static_cast<int>(i)))) {
      newest_first.push_back(std::move(*suite));
    }
  }
  if (newest_first.empty()) return std::nullopt;
  SuiteRecord merged = newest_first.front();
  for (ChapterRecord& chapter : merged.chapters) {
    if (!chapter.name.empty()) chapter = merged_chapter(newest_first, chapter.name);
  }
  return merged;
}

Run chapter_run(const Run& run, const ChapterRecord& chapter) {
  Run own;
  own.info = run.info;
  own.info.experiment = chapter.experiment;
  own.info.title = chapter.title;
  make_session_of(chapter, own.info.first);
  for (Session& session : own.info.sessions) make_session_of(chapter, session);
  std::unordered_map<std::string_view, const CaseResult*> by_key;
  for (const CaseResult& result : run.cases) by_key.try_emplace(result.key, &result);
  for (const std::string& key : chapter.cases) {
    const auto found = by_key.find(key);
    if (found != by_key.end()) own.cases.push_back(as_asked(*found->second, chapter));
  }
  return own;
}

}  // namespace assay::store
