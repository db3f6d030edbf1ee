#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/planned.h"
#include "config/suite.h"
#include "run/schedule/work.h"
#include "store/records/suite.h"

namespace assay::cli {

struct PlannedChapter {
  std::string name;                // "": a text alone
  std::optional<Planned> planned;  // nullopt: a text, or left out by the suite or --filter
  bool chosen = true;              // --only leaves the others
  std::string needs = {};          // as run::ChapterPlan has it
};

// A suite whose chapters can be run and reported.
struct PlannedSuite {
  config::Suite suite;
  std::vector<PlannedChapter> chapters;  // as those of `suite`
  store::SuiteRecord record;             // without what depends on this machine
  config::Experiment whole;              // its name, title, text and all presets

  // Points into this suite, which outlives it.
  std::vector<run::ChapterPlan> chapter_plans() const;
};

// What the command line asks of a suite. A setting and a filter apply to the chapters that know
// their names; a chapter without a case that the filters keep is left out.
struct SuiteRequest {
  config::Override given;
  std::vector<std::string> only;  // names of chapters; empty: all
};

// Reads the suite of a file. The error lists the mistakes of the suite and of all chapters.
Result<PlannedSuite> plan_suite_file(const Context& context, const std::string& file,
                                     std::string_view text, const SuiteRequest& request);
// The suite of a stored session, with the chapters' files as they were.
Result<PlannedSuite> plan_stored_suite(const Context& context, const store::Session& session,
                                       const store::SuiteRecord& record,
                                       const SuiteRequest& request);

// Refuses a name of --only that no chapter has.
Result<void> check_only(const std::vector<std::string>& only,
                        const std::vector<std::string>& chapters);

}  // namespace assay::cli
