#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/planned.h"
#include "store/records/suite.h"

namespace assay::cli {

// A run with what it was asked for.
struct StoredRun {
  store::Run run;
  std::vector<const store::CaseResult*> cases;  // that --case names; empty: all
  store::Session session;                       // with experiment and overrides
  config::Changes changes = {};                 // of the chapter that the cases are of
};

// `named`: a run, or latest. `choice`: cases of it, as in cli/case_choice.h; "": all, or those that
// its own --case named. Where they are of several sessions, that of the first counts. Fails where
// the run has no experiment.
Result<StoredRun> stored_run(store::Database& database, const std::string& named,
                             std::string choice);

// The value of an override "--set VALUE" for this option; nullopt for another option.
std::optional<std::string> override_value(const std::string& override, std::string_view option);
config::Override stored_overrides(const store::Session& session, bool with_filters);

// With the models and configs as they were.
config::Environment environment_of(const Context& context, const store::Session& stored);

// The plan of a session's experiment with these overrides, narrowed to these cases where there are
// any.
Result<Planned> plan_stored(const Context& context, const store::Session& session,
                            const std::vector<const store::CaseResult*>& cases,
                            const config::Override& override);

}  // namespace assay::cli
