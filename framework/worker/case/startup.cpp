#include "worker/case/startup.h"

#include <unistd.h>
#include <ctime>
#include <fstream>
#include <sstream>

#include "measure/host_time.h"

namespace assay::worker {

namespace {

double seconds_of(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// On the clock of host_now_s(), in steps of 10 ms. /proc/self/stat has it as its 22nd field, in
// ticks since boot; the second field, a name in parentheses, may hold blanks.
double start_of_this_process_s() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return measure::host_now_s();
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  double ticks = 0;
  fields >> ticks;
  const double asleep_s = seconds_of(CLOCK_BOOTTIME) - seconds_of(CLOCK_MONOTONIC);
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)) - asleep_s;
}

}  // namespace

Startup::Startup() : last_s_(start_of_this_process_s()) { ended("process"); }

void Startup::ended(const std::string& stage) {
  const double now_s = measure::host_now_s();
  stages_.emplace_back(stage, now_s - last_s_);
  last_s_ = now_s;
}

std::vector<store::Series> Startup::series(const std::string& pass) const {
  std::vector<store::Series> all;
  double total_s = 0;
  for (const auto& [stage, s] : stages_) {
    all.push_back({.pass = pass,
                   .metric = "startup_time",
                   .part = stage,
                   .unit = "s",
                   .clock = "wall",
                   .samples = {s}});
    total_s += s;
  }
  all.push_back(
      {.pass = pass, .metric = "total_time", .unit = "s", .clock = "wall", .samples = {total_s}});
  return all;
}

}  // namespace assay::worker
