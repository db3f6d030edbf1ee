#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/records/records.h"

// A suite is stored as one run with the cases of all its chapters, and each session's provenance
// has a record of the chapters under `suite`.
namespace assay::store {

// The parameter that tells a case apart from another chapter's of the same key, which it cannot
// share: it takes turns with other cases, or its configs differ.
inline constexpr const char* chapter_parameter = "chapter";

// A chapter, or a text between two.
struct ChapterRecord {
  std::string name;        // "": a text alone
  std::string title;       // its question
  std::string text;        // Markdown
  std::string experiment;  // its name
  std::string named;       // the experiment, in the suite's text; "": it is written there
  std::string file;
  std::string experiment_text;         // YAML
  std::string report;                  // YAML in place of the experiment's report; "": that one
  std::vector<std::string> overrides;  // "--set …", "--filter …"
  nlohmann::json presets;              // as in a session's provenance
  Parameters left_out;                 // likewise
  std::vector<std::string> passes;
  std::string left;                // why it was not measured; "": it was to be
  std::vector<std::string> cases;  // keys, in the order of its plan
  // Settings of its own where cases that it shares have those of all chapters; monostate: none.
  Parameters settings;
};

struct SuiteRecord {
  std::string name;
  std::string title;
  std::string text;  // Markdown below the title
  std::vector<ChapterRecord> chapters;

  const ChapterRecord* find(std::string_view chapter) const;
};

nlohmann::json to_json(const SuiteRecord& suite);

// nullopt where the session is not of a suite.
std::optional<SuiteRecord> suite_of(const Session& session);
// The newest session's chapters, each with the cases of all sessions; what else a chapter has is
// that of the session which asked for most of its cases.
std::optional<SuiteRecord> suite_of(const RunInfo& info);

// What the chapter's experiment would have stored as a run of its own: the chapter's cases that
// have a result, in its order, with its passes and settings. They keep their ordinals and keys.
Run chapter_run(const Run& run, const ChapterRecord& chapter);

}  // namespace assay::store
