#pragma once

// health reads the GPUs (NVML) and the cores while cases run, and judges which times deserve less
// trust. It depends on store/records. Start here; judge.h has the rules.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "health/source.h"

namespace assay::health {

// What was read while a case ran.
struct Observation {
  double seconds = 0;             // from begin to end
  std::vector<Reading> readings;  // in their order; the first at the begin, the last at the end
  // From before the begin, where the case is too short to judge the cores by it alone.
  std::optional<Reading> before;
  // Processes on its GPUs as last looked up before its begin, at most a few seconds old.
  std::vector<GpuReading> processes_before;
};

// Reads the sources while cases run. One thread, kept for the whole run, that sleeps while no case
// runs and whose readings cost less than 0.1 % of a core in all: where they take longer they become
// rarer. begin() and end() read once each; a begin that follows an end at once takes over what that
// has read.
class Watch {
 public:
  struct Settings {
    double glance_every_s = 0.1;
    double look_every_s = 1;  // thoroughly
    double share = 0.0005;    // of a core, for each of the two
  };

  explicit Watch(std::vector<std::shared_ptr<Source>> sources)
      : Watch(std::move(sources), Settings()) {}
  Watch(std::vector<std::shared_ptr<Source>> sources, Settings settings);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Several cases may be watched at a time. `devices`: the GPUs they use.
  using Ticket = std::uint64_t;
  Ticket begin(std::vector<int> devices);
  Observation end(Ticket ticket);

 private:
  struct Watched {
    std::vector<int> devices;
    double begun_s = 0;
    Observation observation;
    std::uint64_t every = 1;  // of the readings one in so many is kept
    std::uint64_t count = 0;
  };
  Reading read(Depth depth, const std::vector<int>& devices);
  void run();
  void take(std::unique_lock<std::mutex>& lock);
  void looked(const Reading& reading, const std::vector<int>& devices, double cost_s);
  void remember(const Reading& reading);
  static void keep(Watched& watched, const Reading& reading, bool always);

  const Settings settings_;
  std::mutex reading_;  // taken before `mutex_`
  std::vector<std::shared_ptr<Source>> sources_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::map<Ticket, Watched> open_;
  Ticket next_ticket_ = 1;
  double next_glance_s_ = 0;
  double next_look_s_ = 0;
  std::deque<Reading> past_;             // the last seconds' readings of the CPU
  std::map<int, GpuReading> processes_;  // by device, as last looked up
  Reading last_end_;                     // what the last end() has read, of these GPUs
  std::vector<int> last_devices_;
  std::thread thread_;
};

}  // namespace assay::health
