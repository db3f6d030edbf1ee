#include "collect.h"

#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <assay/range.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <kineto/ActivityType.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "classes.h"
#include "flops.h"

namespace assay::kernels {

namespace {

namespace profiler = torch::autograd::profiler;
using libkineto::ActivityType;

using Activities = std::set<profiler::ActivityType>;

Activities activities_of(const at::Device& device) {
  if (device.is_cuda()) return {profiler::ActivityType::CPU, profiler::ActivityType::CUDA};
  return {profiler::ActivityType::CPU};
}

class Session {
 public:
  explicit Session(const Activities& activities) {
    const profiler::ProfilerConfig settings(profiler::ProfilerState::KINETO,
                                            /*report_input_shapes=*/true);
    profiler::prepareProfiler(settings, activities);
    profiler::enableProfiler(settings, activities);
    on_ = true;
  }
  ~Session() {
    if (!on_) return;
    try {
      profiler::disableProfiler();
    } catch (const std::exception&) {
      // The pass's own failure is on its way.
    }
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // cut: the device is no longer recorded. LibTorch loses what was recorded of it unless a buffer
  // is in use at the end, so that one more operation is.
  std::unique_ptr<profiler::ProfilerResult> end(bool cut, const at::Device& device) {
    if (cut && device.is_cuda()) {
      profiler::toggleCollectionDynamic(true, {profiler::ActivityType::CUDA});
      at::zeros({1}, device).cpu();
    }
    on_ = false;
    return profiler::disableProfiler();
  }

 private:
  bool on_ = false;
};

// LibTorch hands a callback no data of its own; this it passes from thread to thread.
constexpr auto place_of_count = c10::DebugInfoKind::PRODUCER_INFO;

struct Count final : c10::DebugInfoBase {
  Count(std::int64_t most, Activities of) : limit(most), activities(std::move(of)) {}

  const std::int64_t limit;
  const Activities activities;
  std::atomic<std::int64_t> seen = 0;
  std::atomic<Nanoseconds> full = 0;  // when the records of the device took too much memory
};

// Stops the profiler at the limit, within a step too: that may launch any number of kernels.
std::unique_ptr<at::ObserverContext> count_one(const at::RecordFunction&) {
  auto* count = static_cast<Count*>(c10::ThreadLocalDebugInfo::get(place_of_count));
  if (count != nullptr && ++count->seen == count->limit) {
    profiler::toggleCollectionDynamic(false, count->activities);
  }
  return nullptr;
}

class Counting {
 public:
  explicit Counting(std::shared_ptr<Count> count)
      : place_(place_of_count, std::move(count)),
        handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(&count_one))) {}
  ~Counting() { at::removeCallback(handle_); }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

 private:
  c10::DebugInfoGuard place_;
  at::CallbackHandle handle_;
};

// Kernels that no operator launches are not counted, but fill the host's memory: stops recording
// the device when the process has grown by more than its operators account for.
class MemoryWatch {
 public:
  explicit MemoryWatch(std::shared_ptr<Count> count)
      : watcher_([count = std::move(count), began = resident_bytes()](const std::stop_token& stop) {
          while (!stop.stop_requested() &&
                 resident_bytes() - began <
                     most_recorded_bytes + count->seen * bytes_of_an_operator) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
          if (stop.stop_requested()) return;
          count->full = std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count();
          profiler::toggleCollectionDynamic(false, {profiler::ActivityType::CUDA});
        }) {}

 private:
  static constexpr std::int64_t bytes_of_an_operator = 2048;

  static std::int64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::int64_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
  }

  std::jthread watcher_;
};

HostEvent::Kind kind_of(const profiler::KinetoEvent& event, const std::string& name) {
  const auto scope = static_cast<at::RecordScope>(event.scope());
  if (scope == at::RecordScope::BACKWARD_FUNCTION) return HostEvent::Kind::backward;
  // Collectives announce themselves as ranges.
  const bool range = scope == at::RecordScope::USER_SCOPE && !class_of_operator(name);
  return range ? HostEvent::Kind::range : HostEvent::Kind::operation;
}

Interval time_of(const profiler::KinetoEvent& event) {
  const auto begin = static_cast<Nanoseconds>(event.startNs());
  return {begin, begin + static_cast<Nanoseconds>(event.durationNs())};
}

HostEvent host_event(const profiler::KinetoEvent& event) {
  HostEvent made;
  made.name = event.name();
  made.kind = kind_of(event, made.name);
  made.time = time_of(event);
  made.thread = event.startThreadId();
  made.id = event.correlationId();
  made.sequence = event.sequenceNr();
  made.forward_thread = event.fwdThreadId();
  if (made.kind == HostEvent::Kind::operation && event.hasShapes()) {
    made.flops = flops_of(made.name, event.shapes().vec());
  }
  return made;
}

DeviceEvent device_event(const profiler::KinetoEvent& event, DeviceEvent::Kind kind) {
  DeviceEvent made;
  made.name = event.name();
  made.kind = kind;
  made.time = time_of(event);
  made.device = event.deviceIndex();
  made.stream = event.deviceResourceId();
  made.correlation = event.correlationId();
  made.operation = event.linkedCorrelationId();
  return made;
}

void add(const profiler::KinetoEvent& event, Events& events) {
  switch (static_cast<ActivityType>(event.activityType())) {
    case ActivityType::CPU_OP:
    case ActivityType::USER_ANNOTATION:
      // An asynchronous one ends on another thread and nests in nothing.
      if (!event.isAsync()) events.host.push_back(host_event(event));
      break;
    case ActivityType::CONCURRENT_KERNEL:
      events.device.push_back(device_event(event, DeviceEvent::Kind::kernel));
      break;
    case ActivityType::GPU_MEMCPY:
      events.device.push_back(device_event(event, DeviceEvent::Kind::copy));
      break;
    case ActivityType::GPU_MEMSET:
      events.device.push_back(device_event(event, DeviceEvent::Kind::fill));
      break;
    case ActivityType::CUDA_RUNTIME:
    case ActivityType::CUDA_DRIVER:
      events.launches.push_back(
          {time_of(event), event.startThreadId(), event.correlationId(), event.name()});
      break;
    default:
      break;
  }
}

// Begin of the last operator that was recorded, or of what filled the memory, whichever is first.
Nanoseconds cut_of(const Events& events, const Count& count) {
  Nanoseconds cut = 0;
  if (count.seen >= count.limit) {
    for (const HostEvent& event : events.host) {
      if (event.kind != HostEvent::Kind::range) cut = std::max(cut, event.time.begin);
    }
  }
  const Nanoseconds full = count.full;
  return cut == 0 || (full != 0 && full < cut) ? full : cut;
}

}  // namespace

Events collect(const ObservedPass& observed, std::int64_t limit) {
  const auto count = std::make_shared<Count>(limit, activities_of(observed.device()));
  std::unique_ptr<profiler::ProfilerResult> result;
  {
    const Counting counting(count);  // around the session: LibTorch keeps both on one stack
    Session session(count->activities);
    std::optional<MemoryWatch> watch;
    if (observed.device().is_cuda()) watch.emplace(count);
    for (int i = 0; i < observed.steps(); ++i) {
      const std::int64_t before = count->seen;
      {
        const Range range(call_range.data());
        observed.step();
      }
      const std::int64_t of_step = count->seen - before;
      if (count->full != 0 || count->seen + of_step > limit) break;
    }
    watch.reset();
    result = session.end(count->full != 0 || count->seen >= limit, observed.device());
  }
  Events events;
  for (const profiler::KinetoEvent& event : result->events()) add(event, events);
  events.cut = cut_of(events, *count);
  return events;
}

}  // namespace assay::kernels
