#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::store {

// What became of a case after the last of its passes was measured, where that is not ok: its series
// are as good as any other's, and none of them tells of it. The mark is the case's outcome.
std::optional<Mark> ended_after_measuring(const CaseResult& result);

// The marks that say something of this series. Health concerns time: a mark of the case is for all
// its series that a clock has taken, a mark of a pass for its series of the metric `time`. How the
// case ended after measuring is for all its series that are ok.
std::vector<Mark> marks_of(const CaseResult& result, const Series& series);

// Set where a series is kept out of reports and comparisons: its case was measured with
// `measure.unhealthy: discard` and this mark is why.
std::optional<Mark> discarded_for(const CaseResult& result, const Series& series);

// What stands for such a series where it is shown: without figures, `skipped`, with the mark's
// reason. Nothing for a series that is shown as it is.
std::optional<Series> stand_in_for(const CaseResult& result, const Series& series);

}  // namespace assay::store
