#include "health/watch.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>

namespace assay::health {
namespace {

using Clock = std::chrono::steady_clock;

// At so many readings of a case every other one is dropped: shares and medians stay.
constexpr std::size_t most_readings = 4096;
// The kernel counts the cores' work in steps of 10 ms: a shorter window tells nothing.
constexpr double shortest_window_s = 0.5;
// A case that begins this soon after another's end reuses its last reading.
constexpr double fresh_for_s = 0.02;

double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

// Of the calling thread; waiting is free.
double cpu_s() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Clock::time_point moment(double time_s) {
  return Clock::time_point(
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time_s)));
}

}  // namespace

Watch::Watch(std::vector<std::shared_ptr<Source>> sources, Settings settings)
    : settings_(settings), sources_(std::move(sources)) {
  // The main thread handles the signals.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Reading Watch::read(Depth depth, const std::vector<int>& devices) {
  const std::lock_guard lock(reading_);
  Reading reading;
  reading.time_s = now_s();
  for (const auto& source : sources_) source->read(depth, devices, reading);
  return reading;
}

Watch::Ticket Watch::begin(std::vector<int> devices) {
  const double start_s = now_s();
  Depth depth = Depth::edge;
  Reading reading;
  {
    const std::lock_guard lock(mutex_);
    const bool all_known = std::all_of(devices.begin(), devices.end(),
                                       [&](int device) { return processes_.contains(device); });
    if (start_s >= next_look_s_ || !all_known) depth = Depth::thorough;
    const bool fresh = start_s - last_end_.time_s < fresh_for_s && last_devices_ == devices;
    if (fresh && depth == Depth::edge) reading = last_end_;
  }
  const double cpu_before_s = cpu_s();
  if (reading.time_s == 0) reading = read(depth, devices);
  const double cost_s = cpu_s() - cpu_before_s;
  const std::lock_guard lock(mutex_);
  if (depth == Depth::thorough) looked(reading, devices, cost_s);
  remember(reading);
  const Ticket ticket = next_ticket_++;
  Watched& watched = open_[ticket];
  for (const int device : devices) {
    const auto known = processes_.find(device);
    if (known != processes_.end()) watched.observation.processes_before.push_back(known->second);
  }
  watched.devices = std::move(devices);
  watched.begun_s = start_s;
  keep(watched, reading, true);
  if (open_.size() == 1) changed_.notify_all();
  return ticket;
}

Observation Watch::end(Ticket ticket) {
  std::vector<int> devices;
  {
    const std::lock_guard lock(mutex_);
    const auto at = open_.find(ticket);
    if (at == open_.end()) return {};
    devices = at->second.devices;
  }
  const Reading reading = read(Depth::edge, devices);
  const std::lock_guard lock(mutex_);
  remember(reading);
  last_end_ = reading;
  last_devices_ = std::move(devices);
  Watched watched = std::move(open_.extract(ticket).mapped());
  // The thread may have kept a later glance meanwhile.
  std::erase_if(watched.observation.readings,
                [&](const Reading& other) { return other.time_s > reading.time_s; });
  keep(watched, reading, true);
  Observation& observation = watched.observation;
  observation.seconds = reading.time_s - watched.begun_s;
  if (observation.seconds >= shortest_window_s) return std::move(observation);
  for (const Reading& past : past_) {
    if (past.time_s <= reading.time_s - shortest_window_s) observation.before = past;
  }
  return std::move(observation);
}

void Watch::drop(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  open_.erase(ticket);
}

void Watch::change(const std::function<void()>& make) {
  const std::lock_guard reading(reading_);
  make();
  const std::lock_guard lock(mutex_);
  next_look_s_ = 0;
  past_.clear();
  processes_.clear();
  last_end_ = {};
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (open_.empty()) {
      changed_.wait(lock);
    } else if (const double due = std::min(next_glance_s_, next_look_s_); now_s() < due) {
      changed_.wait_until(lock, moment(due));
    } else {
      take(lock);
    }
  }
}

void Watch::take(std::unique_lock<std::mutex>& lock) {
  const Depth depth = now_s() >= next_look_s_ ? Depth::thorough : Depth::glance;
  std::vector<int> devices;
  for (const auto& [ticket, watched] : open_) {
    devices.insert(devices.end(), watched.devices.begin(), watched.devices.end());
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  const Ticket later = next_ticket_;
  lock.unlock();
  const double cpu_before_s = cpu_s();
  const Reading reading = read(depth, devices);
  const double cost_s = cpu_s() - cpu_before_s;
  lock.lock();
  next_glance_s_ = now_s() + std::max(settings_.glance_every_s, cost_s / settings_.share);
  if (depth == Depth::thorough) {
    looked(reading, devices, cost_s);
    remember(reading);
  }
  for (auto& [ticket, watched] : open_) {
    // A case begun meanwhile may use other devices.
    if (ticket < later) keep(watched, reading, false);
  }
}

void Watch::looked(const Reading& reading, const std::vector<int>& devices, double cost_s) {
  next_look_s_ = now_s() + std::max(settings_.look_every_s, cost_s / settings_.share);
  for (const int device : devices) processes_[device] = {};
  for (const GpuReading& gpu : reading.gpus) processes_[gpu.device] = gpu;
}

void Watch::remember(const Reading& reading) {
  if (!reading.cpu) return;
  past_.push_back({reading.time_s, {}, reading.cpu});
  while (past_.size() > 1 && past_[1].time_s <= reading.time_s - shortest_window_s) {
    past_.pop_front();
  }
}

void Watch::keep(Watched& watched, const Reading& reading, bool always) {
  if (!always && watched.count++ % watched.every != 0) return;
  Reading kept{reading.time_s, {}, reading.cpu};
  for (const GpuReading& gpu : reading.gpus) {
    if (std::count(watched.devices.begin(), watched.devices.end(), gpu.device) > 0) {
      kept.gpus.push_back(gpu);
    }
  }
  std::vector<Reading>& readings = watched.observation.readings;
  readings.push_back(std::move(kept));
  if (readings.size() < most_readings) return;
  std::vector<Reading> thinned;
  for (std::size_t i = 0; i < readings.size(); i += 2) thinned.push_back(std::move(readings[i]));
  readings = std::move(thinned);
  watched.every *= 2;
}

}  // namespace assay::health
