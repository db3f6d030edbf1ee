#include "store/records/identity.h"

#include "base/case_key.h"
#include "base/text.h"

namespace assay::store {

void set_key(CaseResult& result) {
  result.key_text = case_key_text(result.parameters);
  result.key = sha256_hex(result.key_text);
}

void set_outcome_from_series(CaseResult& result) {
  for (const Series& series : result.series) {
    if (series.outcome == Outcome::ok) continue;
    result.outcome = series.outcome;
    result.reason = series.reason;
    return;
  }
}

const Session& session_of(const RunInfo& info, int session) {
  if (session > 0 && static_cast<std::size_t>(session) <= info.sessions.size()) {
    return info.sessions[static_cast<std::size_t>(session) - 1];
  }
  return info.first;
}

}  // namespace assay::store
