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
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "measure/call_rotation.h"
#include "measure/captured.h"
#include "measure/event_timer.h"
#include "measure/host_time.h"

namespace assay::measure {

namespace {

using Spins = EventTimer::Spins;

void enqueue(const Spins& spins) {
  for (int i = 0; i < spins.kernels; ++i) at::cuda::sleep(spins.cycles + i * spins.more);
}

// A reading's errors, up to 0.3 µs, arise at its two ends and depend on where the device runs the
// timed work: 0.15 % of the shortest reading.
constexpr double shortest_event_reading_s = 200e-6;
constexpr double ends_error_s = 0.3e-6;

// A row's largest error, always to one side: at its ends, and for each of its calls.
// docs/measuring.md, Short calls.
struct RowErrors {
  double ends_s;
  double each_call_s;
};
constexpr RowErrors on_a_stream{ends_error_s, 0.15e-6};
// The spins that correct such a row are in graphs of their own, which add their errors.
constexpr RowErrors in_a_graph{2 * ends_error_s, 0.02e-6};

// Chooses how many calls share one pair of events: one, unless the calls are short and launch
// nothing in between.
class Rows {
 public:
  Rows(bool possible, const RowErrors& errors) : possible_(possible), errors_(errors) {}

  void have_at_most(int calls) { longest_ = std::min(calls, longest_row); }

  // Host time spent ahead of a call; a launch takes longer than a microsecond.
  void saw_ahead(double host_s) { least_ahead_s_ = std::min(least_ahead_s_, host_s); }
  void rule_out() { possible_ = false; }

  // Seconds of `calls` calls in the longest possible rows. row_s(n): seconds of a row of n.
  template <class RowTime>
  double time(int calls, const RowTime& row_s) {
    double error_s = 0;
    const double total_s = in_rows(calls, calls_at_most(), [&](int n) {
      const double s = row_s(n);
      call_s_ = s / n;
      error_s += n > 1 && possible_ ? errors_.ends_s + n * errors_.each_call_s : n * ends_error_s;
      return s;
    });
    call_error_s_ = error_s / calls;
    return total_s;
  }

  // Largest error of a call among those timed last.
  double call_error_s() const { return call_error_s_; }

 private:
  static constexpr double nothing_s = 1e-6;
  static constexpr int longest_row = 64;

  int calls_at_most() const {
    return possible_ && least_ahead_s_ < nothing_s && call_s_ < shortest_event_reading_s ? longest_
                                                                                         : 1;
  }

  bool possible_;
  RowErrors errors_;
  int longest_ = longest_row;
  double least_ahead_s_ = std::numeric_limits<double>::infinity();
  double call_s_ = std::numeric_limits<double>::infinity();  // of the last call
  double call_error_s_ = 0;
};

struct Observed {
  double enqueue_s = 0;   // host time of the call
  double outlived_s = 0;  // time the device went on after this rank's stream had finished
  double beyond_s =
      0;  // what of that is more than noticing takes, and than a hundredth of the call
};

// Between the ends of both waits lies nothing else: work of another stream would go on meanwhile.
// The longer the host has waited, the later it notices: 33 us behind a call of 50 ms.
Observed observe(const CallRotation& rotation) {
  const Call& call = rotation.calls().front();
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
  constexpr double noticed_within_s = 30e-6;
  observed.beyond_s =
      observed.outlived_s - std::max(noticed_within_s, (finished_s - begin_s) / 100);
  return observed;
}

// Events and captures cover the current stream and what joins it. Refuses a call that leaves work
// on another stream. Retries, since other processes may delay noticing the end.
double checked_enqueue_s(const CallRotation& rotation) {
  constexpr int tries = 5;
  Observed least = observe(rotation);
  double beyond_s = rotation.worst_of_ranks(least.beyond_s);
  for (int i = 1; i < tries && beyond_s > 0; ++i) {
    const Observed observed = observe(rotation);
    least.enqueue_s = std::min(least.enqueue_s, observed.enqueue_s);
    least.outlived_s = std::min(least.outlived_s, observed.outlived_s);
    least.beyond_s = std::min(least.beyond_s, observed.beyond_s);
    beyond_s = rotation.worst_of_ranks(least.beyond_s);
  }
  if (beyond_s > 0) {
    throw Unsupported(fmt::format(
        "the call leaves work on a stream that the current one does not wait for ({:.0f} us of "
        "it); events would cut it off, the wall clock does not",
        rotation.worst_of_ranks(least.outlived_s) * 1e6));
  }
  return least.enqueue_s;
}

class CudaEventClock final : public Clock {
 public:
  explicit CudaEventClock(TimedCalls timed)
      : rows_(timed.nothing_between(), on_a_stream),
        rotation_(std::move(timed)),
        timer_([this](const Spins& spins) { return between_events([spins] { enqueue(spins); }); }) {
  }

  std::string name() const override { return "cuda_event"; }
  double resolution_s() const override { return timer_.resolution_s(); }
  double shortest_reading_s() const override { return shortest_event_reading_s; }
  std::size_t last() const override { return rotation_.last(); }
  std::size_t last_row() const override { return rotation_.last_row(); }
  bool makes_rows() const override { return rotation_.nothing_between(); }
  void add(std::vector<Call> calls) override { rotation_.add(std::move(calls)); }
  store::ClockFacts facts() const override {
    store::ClockFacts facts = timer_.facts();
    facts.call_error_s = rows_.call_error_s();
    return facts;
  }

  void prepare() override {
    rows_.have_at_most(rotation_.longest_row());
    timer_.expect_enqueue_s(checked_enqueue_s(rotation_));
    for (std::size_t i = 1; i < rotation_.calls().size(); ++i) call(i);
    c10::cuda::device_synchronize();
  }

  double sample(int calls) override {
    return rows_.time(calls, [this](int n) { return n == 1 ? one_s() : row_s(n); });
  }

  void call(std::size_t program) override {
    rotation_.calls()[program].before();
    rotation_.calls()[program].run();
  }

 private:
  EventTimer::Timed between_events(std::function<void()> enqueue) {
    return {[this, enqueue = std::move(enqueue)] { events_.around(enqueue); }, events_};
  }
  EventTimer::Timed aligned(std::function<void()> enqueue) {
    return {[this, enqueue = std::move(enqueue)] {
              rotation_.align();
              events_.around(enqueue);
            },
            events_};
  }

  double one_s() {
    const auto& run = rotation_.next();
    rows_.saw_ahead(rotation_.before_s());
    return timer_.time(aligned(run));
  }

  double row_s(int n) {
    rotation_.begin_row(n);
    const auto row = [this, n] {
      for (int i = 0; i < n; ++i) rotation_.next_in_row()();
    };
    return timer_.time(aligned(row), n);
  }

  Rows rows_;
  CallRotation rotation_;
  EventPair events_;
  EventTimer timer_;
};

// Tells CUDA's refusal to capture from a failure of the call itself.
bool means_not_capturable(const std::string& reason) {
  return reason.find("captur") != std::string::npos;
}

class CudaGraphClock final : public Clock {
 public:
  explicit CudaGraphClock(TimedCalls timed)
      : rows_(timed.nothing_between(), in_a_graph), rotation_(std::move(timed)) {
    enqueue({1, 0, 0});  // a kernel must have been launched before it is captured
    c10::cuda::device_synchronize();
    timer_.emplace([this](const Spins& spins) { return spinning(spins); });
  }

  std::string name() const override { return "cuda_graph"; }
  double resolution_s() const override { return timer_->resolution_s(); }
  double shortest_reading_s() const override { return shortest_event_reading_s; }
  std::size_t last() const override { return rotation_.last(); }
  std::size_t last_row() const override { return rotation_.last_row(); }
  bool makes_rows() const override { return rotation_.nothing_between(); }
  void add(std::vector<Call> calls) override { rotation_.add(std::move(calls)); }
  store::ClockFacts facts() const override {
    store::ClockFacts facts = timer_->facts();
    facts.call_error_s = rows_.call_error_s();
    return facts;
  }

  void prepare() override {
    rows_.have_at_most(rotation_.longest_row());
    const double enqueue_s = checked_enqueue_s(rotation_);
    const Status captured = guarded([&] { capture_all(); });
    if (!captured.ok() && means_not_capturable(captured.reason)) {
      throw Unsupported("the clock cuda_graph cannot capture this call: " + captured.reason);
    }
    throw_unless_ok(captured);
    // The first launch of a graph also brings it to the device.
    for (std::size_t i = 0; i < captured_.size(); ++i) call(i);
    c10::cuda::device_synchronize();
    timer_->expect_enqueue_s(std::min(enqueue_s, replay_enqueue_s()));
    rows_.saw_ahead(captured_.front().ahead_s());
  }

  double sample(int calls) override {
    return rows_.time(calls, [this](int n) { return n == 1 ? one_s() : row_s(n); });
  }

  void call(std::size_t program) override {
    captured_.at(program).before.replay();
    newest_.at(program)->replay_newest();
  }

  void settle() override {
    if (!holds_last()) call(last());
  }
  bool holds_last() const override {
    return newest_.at(last()) == timed_ && timed_->newest_was_last();
  }

 private:
  // Libraries allocate workspaces and choose algorithms in their first calls on a stream.
  static constexpr int warmup_calls = 3;

  template <class Work>
  static void on_a_side_stream(const Work& work) {
    c10::cuda::device_synchronize();
    {
      const c10::cuda::CUDAStreamGuard side_stream(c10::cuda::getStreamFromPool());
      work();
    }
    c10::cuda::device_synchronize();
  }

  EventTimer::Timed spinning(const Spins& spins) {
    const auto known = spinning_.find(spins);
    if (known != spinning_.end()) return known->second.next();
    CapturedRuns runs;
    on_a_side_stream([&] {
      runs.capture(CapturedRuns::of_a_short_run, at::cuda::graph_pool_handle(),
                   [&] { enqueue(spins); });
    });
    runs.bring();
    return spinning_.emplace(spins, std::move(runs)).first->second.next();
  }

  // The graphs share their memory, so they are replayed in turn, never concurrently.
  void capture_all() {
    captured_rows_.clear();
    captured_.clear();
    pool_ = at::cuda::graph_pool_handle();  // a pool dies with its graphs
    on_a_side_stream([this] {
      captured_.resize(rotation_.calls().size());
      newest_.resize(captured_.size());
      for (std::size_t i = 0; i < captured_.size(); ++i) {
        captured_[i].capture(rotation_.calls()[i], i == 0 ? warmup_calls : 1, pool_);
        newest_[i] = &captured_[i].alone;
      }
    });
  }

  EventTimer::Timed timed_run(CapturedRuns& runs) {
    timed_ = &runs;
    return runs.next();
  }

  double one_s() {
    Captured& captured = captured_.at(rotation_.advance_alone());
    rotation_.renew_ahead();
    captured.before.replay();
    rotation_.renew();
    rotation_.flush();
    return timer_->time(timed_run(captured.alone));
  }

  // Falls back to single calls where a row or its spins cannot be captured, such as for want of
  // memory.
  double row_s(int n) {
    double s = 0;
    const Status timed = guarded([&] {
      if (!captured_rows_.contains(n)) capture_row(n);
      rotation_.begin_row(n);
      s = timer_->time(timed_run(captured_rows_.at(n)), n);
      rotation_.end_row(n);
    });
    if (timed.ok()) return s;
    rows_.rule_out();
    capture_all();  // replays do not write what the failure left in the programs
    for (std::size_t i = 0; i < captured_.size(); ++i) call(i);
    return sample(n);
  }

  // Captures a `before` ahead of each call. It launches nothing, but resets host state of the last
  // call.
  void capture_row(int n) {
    CapturedRuns runs;
    on_a_side_stream([&] {
      runs.capture(CapturedRuns::of_a_short_run, pool_, [&] {
        rotation_.rewind();
        for (int i = 0; i < n; ++i) rotation_.next_in_row()();
      });
    });
    runs.bring();
    CapturedRuns* const captured = &(captured_rows_[n] = std::move(runs));
    const std::size_t programs = std::min(newest_.size(), static_cast<std::size_t>(n));
    std::fill_n(newest_.begin(), programs, captured);
  }

  double replay_enqueue_s() {
    captured_.front().before.replay();
    const double begin_s = host_now_s();
    newest_.front()->replay_newest();
    const double enqueue_s = host_now_s() - begin_s;
    c10::cuda::device_synchronize();
    return enqueue_s;
  }

  Rows rows_;
  CallRotation rotation_;
  at::cuda::MempoolId_t pool_;
  std::deque<Captured> captured_;              // of each program; a deque does not move them
  std::map<int, CapturedRuns> captured_rows_;  // by their number of calls
  std::vector<CapturedRuns*> newest_;          // that left each program its outputs
  const CapturedRuns* timed_ = nullptr;        // last
  std::map<Spins, CapturedRuns> spinning_;
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
