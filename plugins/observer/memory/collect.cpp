#include "collect.h"

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <chrono>

#include "device_memory.h"
#include "observation.h"
#include "saved.h"

namespace assay::memory {

namespace {

std::unique_ptr<at::ObserverContext> entered(const at::RecordFunction& function) {
  Observation* observation = Observation::current();
  return observation == nullptr ? nullptr : observation->enter(function);
}

void left(const at::RecordFunction&, at::ObserverContext* context) {
  Observation* observation = Observation::current();
  if (observation != nullptr && context != nullptr) observation->leave(*context);
}

// Also those of autograd's threads, which inherit it with the debug info.
class Callback {
 public:
  Callback()
      : handle_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(&entered, &left)
                .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                         at::RecordScope::USER_SCOPE}))) {}
  ~Callback() { at::removeCallback(handle_); }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

 private:
  at::CallbackHandle handle_;
};

void take_steps(const ObservedPass& observed, Observation& observation) {
  observation.building();
  observed.build();
  observation.built();
  for (int i = 0; i < observed.steps() && !observation.full(); ++i) {
    observation.begin_step();
    observed.step();
    observation.end_step();
  }
}

double unix_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Collected collect(const ObservedPass& observed, const std::function<double()>& now_s,
                  const Limits& limits) {
  const at::Device device = observed.device();
  const auto observation =
      std::make_shared<Observation>(device, allocator_level(device),
                                    Observation::Sources{now_s, device_bytes_of(device)}, limits);
  Collected collected;
  {
    const c10::DebugInfoGuard listening(c10::DebugInfoKind::PROFILER_STATE, observation);
    const AllocatorTrace trace(device, observation);
    const SavedTensors saved;
    const Callback callback;
    try {
      take_steps(observed, *observation);
    } catch (...) {
      collected.failure = std::current_exception();
    }
  }
  std::vector<Segment> segments = segments_of(device, *observation);
  collected.history = observation->take();
  collected.history.segments = std::move(segments);
  collected.history.unix_s = unix_s() - now_s();
  return collected;
}

}  // namespace assay::memory
