#pragma once

#include <string>

#include "store/records/records.h"

namespace assay::store {

// Sets `key_text` and `key` from the parameters.
void set_key(CaseResult& result);

// The outcome of a case that came without one of its own: the first of
// its series that is not ok, with its reason; else what it has.
void set_outcome_from_series(CaseResult& result);

// What a case of the run was measured from and with, by CaseResult::session.
const Session& session_of(const RunInfo& info, int session);

}  // namespace assay::store
