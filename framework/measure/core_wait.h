#pragma once

namespace assay::measure {

// Seconds for which this thread has been ready to run and had no core, since it began: they are
// others' work, not its own. 0 where the system does not count them.
double waited_for_a_core_s();

// What is left of `passed_s` without such a wait, at least half: a longer one would also be what
// the thread has left to another one of its own on the same core.
double on_a_core_s(double passed_s, double waited_s);

}  // namespace assay::measure
