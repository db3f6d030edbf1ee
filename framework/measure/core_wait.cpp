#include "measure/core_wait.h"

#include <fstream>

namespace assay::measure {

// "time on a core, time waiting for one, turns", the times in ns (Documentation/scheduler/
// sched-stats.rst of Linux).
double waited_for_a_core_s() {
  std::ifstream counts("/proc/thread-self/schedstat");
  double worked_ns = 0, waited_ns = 0;
  return counts >> worked_ns >> waited_ns ? 1e-9 * waited_ns : 0;
}

}  // namespace assay::measure
