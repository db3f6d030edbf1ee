#include "measure/event_timer.h"

#if ASSAY_WITH_CUDA

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Sleep.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace assay::measure {

namespace {

constexpr double longest_possible_hold_s = 0.05;
constexpr double recording_s = 20e-6;  // of two events, and the spin's own launch
constexpr double spare = 1.5;
constexpr double most_lengthening = 8;  // a call that waits for the device outlasts any spin

constexpr double empty_hold_s = 50e-6;
constexpr double parts_hold_s = 200e-6;
constexpr std::size_t empty_kernels = 41;
constexpr int kernels_until_awake = 30;  // after a pause the first ones show more
// Of a longer call the overhead's moves, by 0.25 µs at most, are about a thousandth.
constexpr double short_call_s = 200e-6;
constexpr double documented_resolution_s = 0.5e-6;  // of cudaEventElapsedTime
constexpr double same_timestamp_s = 1e-9;

// The mean without the quarter at either end: steadier than a median of values that come in steps.
template <class Values>
double middle_mean(const Values& all) {
  if (all.empty()) return 0;
  std::vector<double> values(all.begin(), all.end());
  std::sort(values.begin(), values.end());
  const std::size_t quarter = values.size() / 4;
  double sum = 0;
  for (std::size_t i = quarter; i < values.size() - quarter; ++i) sum += values[i];
  return sum / static_cast<double>(values.size() - 2 * quarter);
}

// Reads until there are so many, or four times as many readings have been made as are lacking.
template <class Read>
void collect(std::deque<double>& values, std::size_t wanted, const Read& read) {
  if (values.size() >= wanted) return;
  for (std::size_t tries = 4 * (wanted - values.size()); tries > 0; --tries) {
    if (const std::optional<double> value = read()) values.push_back(*value);
    if (values.size() == wanted) return;
  }
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

}  // namespace

EventTimer::EventTimer(std::function<Timed(const Spins&)> spinning)
    : spinning_(std::move(spinning)) {
  measure_rate();
  measure_overhead();
  measure_rate();  // by now an idle device has woken up
  beside_lengthened_ = 1;
}

// The rate that the device names is its fastest; it may well be slower.
void EventTimer::measure_rate() {
  constexpr std::int64_t cycles = 200'000;
  at::cuda::sleep(cycles);
  own_.stop.record();
  own_.stop.synchronize();
  at::cuda::sleep(cycles);  // behind it the next three wait for each other, not for the host
  own_.around([] { at::cuda::sleep(cycles); });
  own_.stop.synchronize();
  cycles_per_s_ = static_cast<double>(cycles) / (own_.start.elapsed_time(own_.stop) * 1e-3);
}

void EventTimer::measure_overhead() {
  for (int i = 0; i < kernels_until_awake; ++i) show(spinning_(nothing), empty_hold_s);
  collect(empty_s_, empty_kernels, [this] { return shown_beside_s(nothing, empty_hold_s); });
  if (empty_s_.empty()) empty_s_.push_back(show(spinning_(nothing), empty_hold_s).s);
  overhead_s_ = middle_mean(empty_s_);
  resolution_s_ = smallest_step({empty_s_.begin(), empty_s_.end()});
}

void EventTimer::follow_overhead() {
  collect(empty_s_, empty_s_.size() + 1, [this] { return shown_beside_s(nothing, empty_hold_s); });
  if (empty_s_.size() > empty_kernels) empty_s_.pop_front();
  overhead_s_ = middle_mean(empty_s_);
}

// The device launches a kernel while the one before it runs, which it cannot where that one does
// nothing: such kernels are further apart, by up to 0.09 µs.
std::optional<double> EventTimer::parting_s() {
  static_assert(parts.kernels * parts.cycles == whole.cycles);
  const auto in_parts_s = shown_beside_s(parts, parts_hold_s);
  const auto in_whole_s = shown_beside_s(whole, empty_hold_s);
  if (!in_parts_s || !in_whole_s) return std::nullopt;
  return (*in_parts_s - *in_whole_s) / (parts.kernels - 1);
}

double EventTimer::between_calls_s() {
  const std::size_t known = parting_s_.size();
  collect(parting_s_, known == 0 ? empty_kernels : known + 1, [this] { return parting_s(); });
  if (parting_s_.size() > empty_kernels) parting_s_.pop_front();
  return middle_mean(parting_s_);
}

std::optional<double> EventTimer::shown_beside_s(const Spins& spins, double held_s) {
  const Shown shown = show(spinning_(spins), beside_lengthened_ * held_s);
  if (!shown.gap) return shown.s;
  beside_lengthened_ = std::min(2 * beside_lengthened_, most_lengthening);
  return std::nullopt;  // the host's part is in it
}

double EventTimer::hold_s(int calls) const {
  return std::min(lengthened_ * (spare * calls * enqueue_s_ + recording_s),
                  longest_possible_hold_s);
}

double EventTimer::time(const Timed& timed, int calls) {
  const double shown_s = raw_time(timed, calls);
  const double beside_s = calls > 1 ? (calls - 1) * between_calls_s() : 0;
  if (shown_s < short_call_s) follow_overhead();
  return std::max(0.0, shown_s - overhead_s_ - beside_s);
}

double EventTimer::raw_time(const Timed& timed, int calls) {
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

// The stream is waited for, not the events: those of a graph are recorded only when it runs.
EventTimer::Shown EventTimer::show(const Timed& timed, double held_s) {
  at::cuda::sleep(static_cast<std::int64_t>(held_s * cycles_per_s_));
  released_.record();
  timed.enqueue();
  const bool gap = released_.query();  // already: the device may have waited
  c10::cuda::getCurrentCUDAStream().synchronize();
  return {timed.events.start.elapsed_time(timed.events.stop) * 1e-3, gap};
}

nlohmann::json EventTimer::facts() const {
  return {{"resolution_s", resolution_s_},
          {"overhead_s", overhead_s_},
          {"between_calls_s", middle_mean(parting_s_)},
          {"hold_s", longest_hold_s_},
          {"calls", timed_},
          {"calls_with_launch_gaps", gaps_}};
}

}  // namespace assay::measure

#endif
