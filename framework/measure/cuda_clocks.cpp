#include "measure/cuda_clocks.h"

#if ASSAY_WITH_CUDA

#include <ATen/cuda/Sleep.h>
#include <assay/plugin.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "measure/event_timer.h"
#include "measure/host_time.h"
#include "measure/turns.h"
#include "model/captured_call.h"

namespace assay::measure {

namespace {

void enqueue_empty() { at::cuda::sleep(0); }

struct Observed {
  double enqueue_s = 0;   // host time of the call
  double outlived_s = 0;  // how long the device went on after the current stream had finished
};

Observed observe(const Call& call) {
  call.before();
  c10::cuda::device_synchronize();
  Observed observed;
  const double begin_s = host_now_s();
  call.run();
  observed.enqueue_s = host_now_s() - begin_s;
  c10::cuda::getCurrentCUDAStream().synchronize();
  const double finished_s = host_now_s();
  c10::cuda::device_synchronize();
  observed.outlived_s = host_now_s() - finished_s;
  return observed;
}

// Events and captures see the current stream and what joins it. Work that a call leaves on another
// would be cut off, so such a call is refused. Tried again where it seems so: other processes may
// have kept this one from noticing the end.
double checked_enqueue_s(const Call& call) {
  constexpr double noticed_within_s = 50e-6;
  constexpr int tries = 5;
  Observed observed = observe(call);
  double enqueue_s = observed.enqueue_s;
  for (int i = 1; i < tries && observed.outlived_s > noticed_within_s; ++i) {
    observed = observe(call);
    enqueue_s = std::min(enqueue_s, observed.enqueue_s);
  }
  if (observed.outlived_s > noticed_within_s) {
    throw Unsupported(fmt::format(
        "the call leaves work on a stream that the current one does not wait for ({:.0f} us of "
        "it); events would cut it off, the wall clock does not",
        observed.outlived_s * 1e6));
  }
  return enqueue_s;
}

class CudaEventClock final : public Clock {
 public:
  explicit CudaEventClock(TimedCalls timed)
      : turns_(std::move(timed)), timer_({[this] { events_.around(enqueue_empty); }, events_}) {}

  std::string name() const override { return "cuda_event"; }
  double resolution_s() const override { return timer_.resolution_s(); }
  std::size_t last() const override { return turns_.last(); }
  nlohmann::json facts() const override { return timer_.facts(); }

  void prepare() override {
    timer_.expect_enqueue_s(checked_enqueue_s(turns_.calls().front()));
    for (std::size_t i = 1; i < turns_.calls().size(); ++i) call(i);
    c10::cuda::device_synchronize();
  }

  double sample(int calls) override {
    double total_s = 0;
    for (int i = 0; i < calls; ++i) {
      const auto& run = turns_.next();
      total_s += timer_.time({[&] { events_.around(run); }, events_});
    }
    return total_s;
  }

  void call(std::size_t program) override {
    turns_.calls()[program].before();
    turns_.calls()[program].run();
  }

 private:
  Turns turns_;
  EventPair events_;
  EventTimer timer_;
};

// What a failed capture says that CUDA refused, rather than the call itself.
bool means_not_capturable(const std::string& reason) {
  return reason.find("captur") != std::string::npos;
}

// What is timed of a replay: between events that are a part of the graph. How long launching it
// takes differs from graph to graph by up to 0.3 µs, which would be in a time taken around it.
struct CapturedRun {
  model::CapturedCall graph;
  EventPair events;

  void capture(at::cuda::MempoolId_t pool, const std::function<void()>& run) {
    graph.capture(pool, [&] { events.around(run); });
  }
  EventTimer::Timed timed() {
    return {[this] { graph.replay(); }, events};
  }
};

// A program's call, captured in two graphs.
struct Captured {
  model::CapturedCall before;
  CapturedRun run;

  void capture(const Call& call, int warmup_calls, at::cuda::MempoolId_t pool) {
    for (int i = 0; i < warmup_calls; ++i) {
      call.before();
      call.run();
    }
    // Drops what the last run left, so that the graphs' memory does not come on top of it.
    call.before();
    c10::cuda::device_synchronize();
    before.capture(pool, call.before);
    run.capture(pool, call.run);
  }
};

class CudaGraphClock final : public Clock {
 public:
  explicit CudaGraphClock(TimedCalls timed) : turns_(std::move(timed)) {
    enqueue_empty();  // a kernel that has not been launched yet cannot be captured
    c10::cuda::device_synchronize();
    {
      const c10::cuda::CUDAStreamGuard side_stream(c10::cuda::getStreamFromPool());
      empty_.capture(at::cuda::graph_pool_handle(), enqueue_empty);
    }
    timer_.emplace(empty_.timed());
  }

  std::string name() const override { return "cuda_graph"; }
  double resolution_s() const override { return timer_->resolution_s(); }
  std::size_t last() const override { return turns_.last(); }
  nlohmann::json facts() const override { return timer_->facts(); }

  void prepare() override {
    const double enqueue_s = checked_enqueue_s(turns_.calls().front());
    const Status captured = guarded([&] { capture_all(); });
    if (!captured.ok() && means_not_capturable(captured.reason)) {
      throw Unsupported("the clock cuda_graph cannot capture this call: " + captured.reason);
    }
    throw_unless_ok(captured);
    // The first launch of a graph also brings it to the device.
    for (std::size_t i = 0; i < captured_.size(); ++i) call(i);
    c10::cuda::device_synchronize();
    timer_->expect_enqueue_s(std::min(enqueue_s, replay_enqueue_s()));
  }

  double sample(int calls) override {
    double total_s = 0;
    for (int i = 0; i < calls; ++i) {
      Captured& captured = captured_.at(turns_.advance());
      captured.before.replay();
      turns_.flush();
      total_s += timer_->time(captured.run.timed());
    }
    return total_s;
  }

  void call(std::size_t program) override {
    captured_.at(program).before.replay();
    captured_.at(program).run.graph.replay();
  }

 private:
  // Libraries allocate workspaces and choose algorithms in their first calls on a stream.
  static constexpr int warmup_calls = 3;

  // The graphs share their memory: they are replayed in turn, never beside each other.
  void capture_all() {
    c10::cuda::device_synchronize();
    const c10::cuda::CUDAStreamGuard side_stream(c10::cuda::getStreamFromPool());
    const auto pool = at::cuda::graph_pool_handle();
    captured_.resize(turns_.calls().size());
    for (std::size_t i = 0; i < captured_.size(); ++i) {
      captured_[i].capture(turns_.calls()[i], i == 0 ? warmup_calls : 1, pool);
    }
    c10::cuda::device_synchronize();
  }

  double replay_enqueue_s() {
    captured_.front().before.replay();
    const double begin_s = host_now_s();
    captured_.front().run.graph.replay();
    const double enqueue_s = host_now_s() - begin_s;
    c10::cuda::device_synchronize();
    return enqueue_s;
  }

  Turns turns_;
  std::deque<Captured> captured_;  // which neither copies nor moves them
  CapturedRun empty_;
  std::optional<EventTimer> timer_;
};

}  // namespace

std::unique_ptr<Clock> make_cuda_event_clock(TimedCalls timed) {
  return std::make_unique<CudaEventClock>(std::move(timed));
}

std::unique_ptr<Clock> make_cuda_graph_clock(TimedCalls timed) {
  return std::make_unique<CudaGraphClock>(std::move(timed));
}

}  // namespace assay::measure

#endif
