#pragma once

#include <map>
#include <optional>
#include <string>

#include "store/database/database.h"

namespace assay::store {

// A run kept to compare later ones with (`--save-baseline NAME`). The name is in the provenance of
// the run's first session, and the newest finished run with it is the baseline: keeping another
// replaces it, and an export carries it.
inline constexpr const char* baseline_member = "baseline";

// "": the run was not kept.
std::string baseline_name(const RunInfo& info);

// The run of each baseline, by the baseline's name.
Result<std::map<std::string, std::string>> baselines(Database& database);

// Fails with ExitCode::bad_input, naming the known ones.
Result<std::string> baseline_run(Database& database, const std::string& baseline);

}  // namespace assay::store
