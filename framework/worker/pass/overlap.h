#pragma once

#include <string>
#include <vector>

#include "measure/tracer.h"
#include "store/records/records.h"

namespace assay::worker {

// Of each group of ranks whose collectives are among the spans (mesh.h): `communication_time`, how
// long some collective was under way, `exposed_communication`, how long the step waited for one,
// and `hidden_communication`, the share of the first that is not the second. Nothing where the
// caller did not wait by the collectives' own handles, as LibTorch's Reducer does.
void add_overlap(const std::string& pass, const std::vector<measure::TracedSpan>& spans,
                 std::vector<store::Series>& series);

}  // namespace assay::worker
