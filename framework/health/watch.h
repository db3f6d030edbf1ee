#pragma once

// health reads the GPUs (NVML) and the cores while cases run, and marks times that deserve less
// trust. It depends on store/records. Start here; judge.h has the rules.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "health/source.h"

namespace assay::health {

struct Observation {
  double seconds = 0;             // from begin to end
  std::vector<Reading> readings;  // in order, from begin to end
  // For a case too short to judge the cores by alone.
  std::optional<Reading> before;
  // Processes on its GPUs, from at most a few seconds before its begin.
  std::vector<GpuReading> processes_before;
};

// Reads the sources while cases run, on one thread that sleeps between cases. Readings take less
// than 0.1 % of a core in all: slow ones become rarer. begin() and end() read once each; a begin
// right after an end reuses its reading.
class Watch {
 public:
  struct Settings {
    double glance_every_s = 0.1;
    double look_every_s = 1;  // thorough readings
    double share = 0.0005;    // of a core, for glances and looks each
  };

  explicit Watch(std::vector<std::shared_ptr<Source>> sources)
      : Watch(std::move(sources), Settings()) {}
  Watch(std::vector<std::shared_ptr<Source>> sources, Settings settings);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Several cases may be open at a time. `devices`: the case's GPUs.
  using Ticket = std::uint64_t;
  Ticket begin(std::vector<int> devices);
  Observation end(Ticket ticket);
  // Ends it without a reading.
  void drop(Ticket ticket);

  // Makes a change to the sources while none of them is read, and forgets what was read before.
  void change(const std::function<void()>& make);

 private:
  struct Watched {
    std::vector<int> devices;
    double begun_s = 0;
    Observation observation;
    std::uint64_t every = 1;  // keeps one reading in so many
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
  std::deque<Reading> past_;             // of the CPU, over the last second
  std::map<int, GpuReading> processes_;  // by device, from the last look
  Reading last_end_;                     // of the last end(), on last_devices_
  std::vector<int> last_devices_;
  std::thread thread_;
};

}  // namespace assay::health
