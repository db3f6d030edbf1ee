#include "measure/others_cores.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "measure/host_time.h"

namespace assay::measure {
namespace {

double seconds_on(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A process that works until it is killed.
class WorkingProcess {
 public:
  WorkingProcess() : process_(fork()) {
    if (process_ != 0) return;
    for (;;) host_now_s();
  }
  ~WorkingProcess() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  WorkingProcess(const WorkingProcess&) = delete;
  WorkingProcess& operator=(const WorkingProcess&) = delete;

  bool runs() const { return process_ > 0; }
  double worked_s() const {
    clockid_t clock{};
    return clock_getcpuclockid(process_, &clock) == 0 ? seconds_on(clock) : 0;
  }

 private:
  pid_t process_;
};

constexpr double enough_s = 0.3, error_s = 0.1;  // of ticks of 10 ms on each core

TEST(OthersCores, CountWhatAnotherProcessUses) {
  const WorkingProcess worker;
  ASSERT_TRUE(worker.runs());
  const double began_s = host_now_s(), worked_before_s = worker.worked_s();
  const OthersCores others;
  double worked_s = 0;
  while (worked_s < enough_s) worked_s = worker.worked_s() - worked_before_s;
  const double average = others.average();
  EXPECT_GE(average * (host_now_s() - began_s), enough_s - error_s);
}

// Threads of this process on all cores: all programs together use no more than there is.
TEST(OthersCores, LeaveOutWhatThisProcessUses) {
  const auto cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  const double began_s = host_now_s(), worked_before_s = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
  const OthersCores others;
  const auto worked_s = [&] { return seconds_on(CLOCK_PROCESS_CPUTIME_ID) - worked_before_s; };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < cores; ++i) {
      threads.emplace_back([&] {
        while (worked_s() < cores * enough_s) host_now_s();
      });
    }
  }
  const double own_s = worked_s(), average = others.average(), passed_s = host_now_s() - began_s;
  EXPECT_LE(average * passed_s + own_s, cores * (passed_s + error_s));
}

}  // namespace
}  // namespace assay::measure
