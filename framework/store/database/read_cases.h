#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <vector>

#include "store/records/records.h"

namespace assay::store {

// By ordinal. As rows.h; much of the work is done on all cores.
std::vector<CaseResult> read_cases(SQLite::Database& database, std::int64_t run_id);

}  // namespace assay::store
