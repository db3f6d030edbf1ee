#include "measure/event_timer.h"

#if ASSAY_WITH_CUDA

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Sleep.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "measure/host_time.h"

#ifdef ASSAY_WITH_KERNELS
#include "measure/hold.h"
#endif

namespace assay::measure {

namespace {

constexpr double longest_possible_hold_s = 0.05;
constexpr double recording_s = 20e-6;  // two events and the spin's launch
constexpr double hold_margin = 1.5;
constexpr double most_lengthening = 8;  // a call that waits for the device outlasts any spin

constexpr EventTimer::Spins short_spin{1, 10'000, 0};  // 5 µs at 2 GHz
constexpr EventTimer::Spins long_spin{1, 160'000, 0};  // 80 µs
// The gap between two kernels varies in steps of 0.1 to 0.25 µs with the first one's length. A
// batch's spins differ evenly by more than that, which averages the steps out.
constexpr double parts_differ_s = 0.5e-6;
constexpr double hold_of_one_s = 50e-6;
constexpr double hold_for_each_s = 5e-6;
constexpr double shortest_part_s = 0.5e-6;  // on average
constexpr double longest_part_s = 200e-6;   // longer calls are not timed in batches
constexpr std::size_t newest = 41;
constexpr std::size_t batches_at_first = 11;  // their error is divided by the calls in them
constexpr int kernels_until_awake = 30;       // after a pause the first readings are longer
// In a longer reading the overhead's drift, at most 0.25 µs, is about a thousandth.
constexpr double short_reading_s = 200e-6;
constexpr double documented_resolution_s = 0.5e-6;  // of cudaEventElapsedTime
constexpr double same_timestamp_s = 1e-9;

// Mean of the middle half: steadier than a median for values that come in steps.
double middle_mean(const std::deque<double>& all) {
  std::vector<double> values(all.begin(), all.end());
  std::sort(values.begin(), values.end());
  const std::size_t quarter = values.size() / 4;
  double sum = 0;
  for (std::size_t i = quarter; i < values.size() - quarter; ++i) sum += values[i];
  return sum / static_cast<double>(values.size() - 2 * quarter);
}

// Timestamps come in steps; so do their differences.
double smallest_step(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double smallest = documented_resolution_s;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double step = values[i] - values[i - 1];
    if (step > same_timestamp_s) smallest = std::min(smallest, step);
  }
  return smallest;
}

std::int64_t all_cycles(const EventTimer::Spins& spins) {
  return spins.kernels * spins.cycles + spins.more * spins.kernels * (spins.kernels - 1) / 2;
}

}  // namespace

EventTimer::EventTimer(std::function<Timed(const Spins&)> spinning)
    : spinning_(std::move(spinning)),
      short_{short_spin, newest, hold_of_one_s},
      long_{long_spin, newest, hold_of_one_s},
      begun_(at::zeros({1}, at::TensorOptions().dtype(at::kInt).pinned_memory(true))) {
#ifdef ASSAY_WITH_KERNELS
  hold_blocks_ = blocks_of_a_full_device();
#endif
  measure_rate();
  for (int i = 0; i < kernels_until_awake; ++i) show(spinning_(short_spin), hold_of_one_s);
  follow_overhead();
  resolution_s_ = smallest_step({short_.shown_s.begin(), short_.shown_s.end()});
  measure_rate();  // the device has left its idle clocks by now
}

// Measured, since the rate the device reports is its fastest.
void EventTimer::measure_rate() {
  constexpr std::int64_t cycles = 200'000;
  at::cuda::sleep(cycles);
  own_.stop.record();
  own_.stop.synchronize();
  at::cuda::sleep(cycles);  // the next three queue behind it and do not wait for the host
  own_.around([] { at::cuda::sleep(cycles); });
  own_.stop.synchronize();
  cycles_per_s_ = static_cast<double>(cycles) / (own_.start.elapsed_time(own_.stop) * 1e-3);
}

void EventTimer::follow(Beside& beside) {
  std::deque<double>& shown_s = beside.shown_s;
  const std::size_t wanted = shown_s.empty() ? beside.at_first : shown_s.size() + 1;
  for (std::size_t tries = 4 * (wanted - shown_s.size()); tries > 0; --tries) {
    if (read(beside) && shown_s.size() == wanted) break;
  }
  if (shown_s.empty()) shown_s.push_back(show(spinning_(beside.spins), beside.held_s).s);
  if (shown_s.size() > newest) shown_s.pop_front();
  beside.middle_s = middle_mean(shown_s);
}

// False where a launch gap adds the host's time to the reading.
bool EventTimer::read(Beside& beside) {
  const Shown shown = show(spinning_(beside.spins), beside.held_s);
  const double needed_s = hold_margin * shown.enqueue_s + recording_s;
  if (shown.gap) {
    beside.held_s = std::min(std::max(needed_s, 2 * beside.held_s), longest_possible_hold_s);
    return false;
  }
  beside.held_s = std::max(hold_of_one_s, needed_s);
  beside.shown_s.push_back(shown.s);
  return true;
}

// Extrapolates from a short and a long spin to one of no length. An empty kernel shows up to 0.3 µs
// less than that.
void EventTimer::follow_overhead() {
  constexpr double ratio = static_cast<double>(long_spin.cycles) / short_spin.cycles;
  follow(short_);
  follow(long_);
  overhead_s_ = short_.middle_s - (long_.middle_s - short_.middle_s) / (ratio - 1);
}

// The gaps between kernels depend on their number, their length, and where the device finds their
// launches, so a similar batch measures them. Disturbances only lengthen readings, and the first
// reading still includes the gaps: a batch of shorter kernels replaces one that turns out too long.
void EventTimer::follow_batch(double shown_s, int calls) {
  constexpr double as_long = 0.9;
  const double call_s = (shown_s - overhead_s_) / calls - between_calls_s_;
  const double part_s = std::clamp(call_s, shortest_part_s, longest_part_s);
  auto place = batches_.find(calls);
  if (place == batches_.end() || part_s < as_long * place->second.part_s) {
    place = batches_.insert_or_assign(calls, batch_like(part_s, calls)).first;
  }
  Batch& batch = place->second;
  follow(batch.parts);
  follow(batch.whole);
  between_calls_s_ = (batch.parts.middle_s - batch.whole.middle_s) / (calls - 1);
}

EventTimer::Batch EventTimer::batch_like(double call_s, int calls) const {
  const auto cycles = [this](double s) { return static_cast<std::int64_t>(s * cycles_per_s_); };
  const Spins parts{calls, cycles(call_s - parts_differ_s / 2),
                    cycles(parts_differ_s / (calls - 1))};
  const Spins whole{1, all_cycles(parts), 0};
  return {{parts, batches_at_first, hold_of_one_s + calls * hold_for_each_s},
          {whole, batches_at_first, hold_of_one_s},
          call_s};
}

double EventTimer::hold_s(int calls) const {
  return std::min(lengthened_ * (hold_margin * calls * enqueue_s_ + recording_s),
                  longest_possible_hold_s);
}

double EventTimer::time(const Timed& timed, int calls) {
  const double shown_s = shown_by_calls_s(timed, calls);
  if (calls > 1 || shown_s < short_reading_s) follow_overhead();
  if (calls > 1) follow_batch(shown_s, calls);
  return std::max(0.0, shown_s - overhead_s_ - (calls - 1) * between_calls_s_);
}

double EventTimer::shown_by_calls_s(const Timed& timed, int calls) {
  const double held_s = hold_s(calls);
  longest_hold_s_ = std::max(longest_hold_s_, held_s);
  const Shown shown = show(timed, held_s);
  timed_ += calls;
  if (shown.gap) {
    gaps_ += calls;
    lengthened_ = std::min(2 * lengthened_, most_lengthening);
  }
  return shown.s;
}

// Until the device is full, work of an earlier call, or another stream's, could go on beside the
// call. Without kernels of assay's own one multiprocessor spins, and other streams have the rest.
void EventTimer::hold(double held_s) {
  const auto cycles = static_cast<std::int64_t>(held_s * cycles_per_s_);
#ifdef ASSAY_WITH_KERNELS
  const auto stream = c10::cuda::getCurrentCUDAStream();
  int* const begun = begun_.mutable_data_ptr<int>();
  if (hold_blocks_ > 0 && hold_device(hold_blocks_, cycles, ++holds_, begun, stream.stream())) {
    const std::atomic_ref<int> seen(*begun);
    while (seen.load() != holds_ && !stream.query()) {
    }
    return;
  }
#endif
  at::cuda::sleep(cycles);
}

// Waits for the stream, since a graph's events are recorded only when it runs.
EventTimer::Shown EventTimer::show(const Timed& timed, double held_s) {
  hold(held_s);
  released_.record();
  const double begin_s = host_now_s();
  timed.enqueue();
  const double enqueue_s = host_now_s() - begin_s;
  const bool gap = released_.query();  // the device may have waited for the host
  c10::cuda::getCurrentCUDAStream().synchronize();
  return {timed.events.start.elapsed_time(timed.events.stop) * 1e-3, enqueue_s, gap};
}

store::ClockFacts EventTimer::facts() const {
  return {.resolution_s = resolution_s_,
          .overhead_s = overhead_s_,
          .between_calls_s = between_calls_s_,
          .hold_s = longest_hold_s_,
          .calls = timed_,
          .calls_with_launch_gaps = gaps_};
}

}  // namespace assay::measure

#endif
