#include "measure/core_wait.h"

#include <algorithm>
#include <fstream>

namespace assay::measure {

// "time on a core, time waiting for one, turns", the times in ns (Documentation/scheduler/
// sched-stats.rst of Linux).
double waited_for_a_core_s() {
  std::ifstream counts("/proc/thread-self/schedstat");
  double worked_ns = 0, waited_ns = 0;
  return counts >> worked_ns >> waited_ns ? 1e-9 * waited_ns : 0;
}

double on_a_core_s(double passed_s, double waited_s) {
  constexpr double most_waiting = 0.5;
  return passed_s - std::min(waited_s, most_waiting * passed_s);
}

}  // namespace assay::measure
