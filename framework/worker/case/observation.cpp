#include "worker/case/observation.h"

#include <assay/range.h>
#include <fmt/format.h>

#include <optional>

#include "measure/device.h"
#include "measure/host_time.h"
#include "measure/memory.h"
#include "worker/compose/prepared_pass.h"

#if ASSAY_WITH_CUDA
#include "measure/event_timer.h"
#endif

namespace assay::worker {

namespace {

// What an observer sees within this range belongs to the timed step: neither its preparation nor
// the clock's own work.
constexpr const char* step_range = "assay.step";

// Unlike a clock's it launches nothing beside the step: an observer would see it.
double step_s(const measure::Call& call, const at::Device& device,
              [[maybe_unused]] const std::string& clock) {
  call.before();
  measure::synchronize(device);
#if ASSAY_WITH_CUDA
  if (observed_clock(clock) == "cuda_event") {
    measure::EventPair events;
    {
      const Range range(step_range);
      events.around(call.run);
      measure::synchronize(device);
    }
    return events.start.elapsed_time(events.stop) * 1e-3;
  }
#endif
  const double begin_s = measure::host_now_s();
  {
    const Range range(step_range);
    call.run();
    measure::synchronize(device);
  }
  return measure::host_now_s() - begin_s;
}

class Observed final : public ObservedPassBoundary {
 public:
  explicit Observed(const PassToObserve& what) : what_(what) {}

  const std::string& pass() const noexcept override { return what_.pass; }
  at::Device device() const noexcept override { return what_.context.device; }
  int rank() const noexcept override { return what_.context.group.rank; }
  int steps() const noexcept override { return what_.steps; }

  Status build() noexcept override {
    return guarded([&] {
      if (what_.program != nullptr) {
        throw std::logic_error("the observer builds a program without being fresh()");
      }
      if (another_) throw std::logic_error("the observer builds a second program");
      another_ = what_.build_another();
    });
  }

  Status step() noexcept override {
    return guarded([&] {
      if (taken_ == what_.steps) {
        throw std::logic_error(fmt::format(
            "the observer asks for more than {} steps (measure.observed_steps)", what_.steps));
      }
      ++taken_;
      make_ready();
      what_.took(step_s(call_of(*step_, nullptr), what_.context.device, what_.clock));
    });
  }

 private:
  void make_ready() {
    if (step_) return;
    if (what_.program == nullptr && !another_) {
      throw std::logic_error("a fresh() observer must build its program first");
    }
    step_.emplace();
    throw_unless_ok(prepare(another_ ? *another_->composition : *what_.composition,
                            another_ ? *another_->program : *what_.program, what_.pass, *step_));
  }

  const PassToObserve& what_;
  std::optional<AnotherProgram> another_;
  std::optional<GuardedStep> step_;  // destroyed first: it refers to the program
  int taken_ = 0;
};

}  // namespace

std::string observed_clock(const std::string& clock) {
  return clock == "wall" ? "wall" : "cuda_event";
}

Status observe_pass(ObserverBoundary& observer, const PassToObserve& what) {
  const measure::CpuMemoryPause pause;
  Observed observed(what);
  return observer.observe(observed, what.recorder);
}

}  // namespace assay::worker
