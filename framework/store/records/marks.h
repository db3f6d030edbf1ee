#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::store {

// A case can fail after its last pass was measured: its series stay valid and only this mark, named
// after the case's outcome, tells of it.
std::optional<Mark> ended_after_measuring(const CaseResult& result);

// The mark of a case whose nodes are parts of one machine.
inline constexpr const char* simulated_nodes = "simulated nodes";

// The mark of a pass whose time a program of its own took, with new inputs and looks at none of its
// timed calls.
inline constexpr const char* self_timed = "self-timed";

// The mark of a case whose plugins left other settings in the process that judges them.
inline constexpr const char* other_settings = "settings";

// Whether nothing shows that a time with this mark is that of the work: it is shown, and compared
// with no other. Marks of the machine and of the samples leave a time to be compared.
bool is_unproven(const Mark& mark);
// The first such mark.
const Mark* unproven(const std::vector<Mark>& marks);

// The mark of a pass of which no timed call was compared with a reference: its time is that of work
// which nobody has seen (docs/measuring.md#what-has-no-look).
inline constexpr const char* not_looked_at = "not looked at";

// The marks of this series. A mark of the case concerns all its series with a clock; a mark of a
// pass concerns its series `time`; simulated_nodes concerns all series, ended_after_measuring all
// that are ok.
std::vector<Mark> marks_of(const CaseResult& result, const Series& series);

// The mark for which `measure.unhealthy: discard` keeps a series out of reports and comparisons.
std::optional<Mark> discarded_for(const CaseResult& result, const Series& series);

// Replaces a discarded series where it is shown: without figures, `skipped`, with the mark's
// reason. nullopt for any other series.
std::optional<Series> stand_in_for(const CaseResult& result, const Series& series);

}  // namespace assay::store
