#pragma once

namespace assay::measure {

// Seconds for which this thread has been ready to run and had no core, since it began: they are
// others' work, not its own. 0 where the system does not count them.
double waited_for_a_core_s();

}  // namespace assay::measure
