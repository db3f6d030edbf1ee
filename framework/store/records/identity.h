#pragma once

#include <string>

#include "store/records/records.h"

namespace assay::store {

void set_key(CaseResult& result);

// Takes outcome and reason from the first series that is not ok, if there is one.
void set_outcome_from_series(CaseResult& result);

const Session& session_of(const RunInfo& info, int session);

}  // namespace assay::store
