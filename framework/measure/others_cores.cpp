#include "measure/others_cores.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

#include "measure/host_time.h"

namespace assay::measure {

namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double own_s() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return seconds_of(use.ru_utime) + seconds_of(use.ru_stime);
}

// Whether a line of /proc/stat is of a core that this process may use: "cpu3 …".
bool is_of_own_core(const std::string& name, const cpu_set_t& cores) {
  int core = -1;
  if (!name.starts_with("cpu")) return false;
  std::from_chars(name.data() + 3, name.data() + name.size(), core);
  return core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, &cores);
}

// Seconds that the cores have worked for whoever it was. "cpu3 user nice system idle iowait irq
// softirq steal guest guest_nice" (proc_stat(5)); guests are counted in user and nice already.
double busy_s() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 0;
  double ticks = 0;
  std::ifstream lines("/proc/stat");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    fields >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
    if (fields && is_of_own_core(name, cores))
      ticks += user + nice + system + irq + softirq + steal;
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double others_s() { return busy_s() - own_s(); }

}  // namespace

OthersCores::OthersCores() : began_s_(host_now_s()), others_began_s_(others_s()) {}

double OthersCores::average() const {
  const double passed_s = host_now_s() - began_s_;
  return passed_s > 0 ? std::max(0.0, others_s() - others_began_s_) / passed_s : 0;
}

}  // namespace assay::measure
