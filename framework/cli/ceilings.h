#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/data/ceilings.h"
#include "store/database/database.h"

namespace assay::cli {

// What the stored calibrations of a machine say it can do at most; the newest that measured a thing
// counts, one that was narrowed (--set, --filter) only where no whole one has. A machine is told by
// its host and its GPUs, as runs store it. Calibrations are the runs of the experiments
// calibrate_*.
Result<report::Ceilings> ceilings_of_machine(store::Database& database,
                                             const nlohmann::json& machine);

// Of these runs, whatever machine they are of, the first of them first: stored ones, `latest`, or
// exported files (*.jsonl, *.ndjson, *.csv). An error where one has measured no ceiling.
Result<report::Ceilings> ceilings_named(store::Database& database,
                                        const std::vector<std::string>& names);

}  // namespace assay::cli
