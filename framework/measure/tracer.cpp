#include "measure/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "measure/device.h"
#include "measure/host_time.h"
#include "measure/memory.h"

#if ASSAY_WITH_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace assay::measure {

namespace {

constexpr std::size_t most_phases = 10'000;
constexpr std::size_t most_spans = 1'000'000;

// A moment of the host.
class HostMoment {
 public:
  static std::uint64_t capture() { return 0; }
  void note() { s_ = host_now_s(); }
  double seconds_since(const HostMoment& other) const { return s_ - other.s_; }

 private:
  double s_ = 0;
};

#if ASSAY_WITH_CUDA
// A moment of the current stream. Noted during a capture, it is noted again by each replay.
class DeviceMoment {
 public:
  // The id of the capture that the current stream is in; 0: none.
  static std::uint64_t capture() {
    cudaStreamCaptureStatus status{};
    unsigned long long id = 0;
    C10_CUDA_CHECK(cudaStreamGetCaptureInfo(c10::cuda::getCurrentCUDAStream(), &status, &id));
    return status == cudaStreamCaptureStatusActive ? id : 0;
  }
  void note() { event_.record(); }
  double seconds_since(const DeviceMoment& other) const {
    return other.event_.elapsed_time(event_) * 1e-3;
  }

 private:
  at::cuda::CUDAEvent event_{cudaEventDefault | cudaEventExternal};
};
#endif

template <class Moment>
class TracerOf final : public Tracer {
 public:
  explicit TracerOf(const c10::Device& device) : device_(device) {}

  void take(Takes takes) override {
    takes_ = takes;
    forget_spans();
    if (takes != Takes::spans) return;
    synchronize(device_);
    base_.note();
    synchronize(device_);
    base_s_ = host_now_s();
  }

  void begin_call() override {
    order_.clear();
    used_.clear();
    open_ = nullptr;
    forget_spans();
    memory_.clear();
    problem_.clear();
  }

  bool takes_spans() const noexcept override { return takes_ == Takes::spans; }

  std::int64_t phase(std::string_view name) noexcept override {
    std::int64_t id = ignored;
    noting([&] { id = begin_phase(name); });
    return id;
  }

  std::int64_t span(std::string_view part, std::string_view lane) noexcept override {
    std::int64_t id = ignored;
    if (takes_ != Takes::spans) return id;
    noting([&] {
      const std::lock_guard lock(spans_mutex_);
      if (spans_.size() == most_spans) {
        return wrong(fmt::format("it has more than {} spans", most_spans));
      }
      spans_.push_back({std::string(part), std::string(lane)});
      spans_.back().begin.note();
      id = -(forgotten_spans_ + std::ssize(spans_));
    });
    return id;
  }

  void end(std::int64_t id) noexcept override {
    if (id == ignored) return;
    noting([&] {
      if (id > 0) return end_phase();
      const std::lock_guard lock(spans_mutex_);
      // A span of an earlier call may end in this one.
      if (-id <= forgotten_spans_) return;
      Stretch& span = spans_[static_cast<std::size_t>(-id - forgotten_spans_ - 1)];
      span.end.note();
      span.ended = true;
    });
  }

  std::vector<PhaseTime> times() const override {
    check();
    std::vector<PhaseTime> times;
    for (const Stretch* phase : last_call()) {
      entry(times, phase->part).s += phase->end.seconds_since(phase->begin);
    }
    return times;
  }

  std::vector<PhaseMemory> memory() const override {
    check();
    return memory_;
  }

  std::vector<TracedSpan> spans() const override {
    check();
    std::vector<TracedSpan> spans;
    for (const Stretch* phase : last_call()) spans.push_back(traced(*phase));
    const std::lock_guard lock(spans_mutex_);
    for (const Stretch& span : spans_) {
      if (!span.ended) throw std::runtime_error(fmt::format("the span '{}' has no end", span.part));
      spans.push_back(traced(span));
    }
    return spans;
  }

 private:
  static constexpr std::int64_t ignored = 0;
  static constexpr std::int64_t the_open_phase = 1;

  struct Stretch {
    std::string part;
    std::string lane;
    Moment begin{};
    Moment end{};
    bool ended = false;
  };

  // Ids go on, so that none comes twice.
  void forget_spans() {
    const std::lock_guard lock(spans_mutex_);
    forgotten_spans_ += std::ssize(spans_);
    spans_.clear();
  }

  // Nothing of it may fail inside a step.
  void noting(const auto& work) noexcept {
    try {
      work();
    } catch (const std::exception& failure) {
      wrong(failure.what());
    }
  }

  void wrong(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  // Takes the moments of an earlier call again: events are costly to make, and a captured one must
  // outlive its graph.
  std::int64_t begin_phase(std::string_view name) {
    if (open_ != nullptr) {
      wrong(fmt::format("the phase '{}' begins within '{}'", name, open_->part));
      return ignored;
    }
    if (order_.size() == most_phases) {
      wrong(fmt::format("it has more than {} phases", most_phases));
      return ignored;
    }
    const std::string phase(name);
    std::deque<Stretch>& slots = phases_[phase];
    const std::size_t slot = used_[phase]++;
    if (slot == slots.size()) slots.push_back({phase, "phases"});
    open_ = &slots[slot];
    order_.push_back(open_);
    if (const std::uint64_t capture = Moment::capture(); capture != 0) {
      if (std::exchange(capture_, capture) != capture) captured_.clear();
      captured_.push_back(open_);
    }
    if (takes_ == Takes::memory) begin_memory(name);
    open_->begin.note();
    return the_open_phase;
  }

  void end_phase() {
    if (open_ == nullptr) return;
    open_->end.note();
    if (takes_ == Takes::memory) {
      PhaseMemory& memory = entry(memory_, open_->part);
      memory.peak_bytes = std::max(memory.peak_bytes, peak_bytes(device_));
    }
    open_ = nullptr;
  }

  void begin_memory(std::string_view name) {
    const std::size_t known = memory_.size();
    PhaseMemory& memory = entry(memory_, std::string(name));
    if (memory_.size() > known) memory.floor_bytes = allocated_bytes(device_);
    reset_peak(device_);
  }

  template <class Entry>
  static Entry& entry(std::vector<Entry>& entries, const std::string& phase) {
    const auto found = std::ranges::find(entries, phase, &Entry::phase);
    return found != entries.end() ? *found : entries.emplace_back(Entry{phase});
  }

  const std::vector<Stretch*>& last_call() const { return order_.empty() ? captured_ : order_; }

  void check() const {
    if (!problem_.empty()) throw std::runtime_error("the trace of the step: " + problem_);
    if (open_ != nullptr) {
      throw std::runtime_error(fmt::format("the phase '{}' has no end", open_->part));
    }
  }

  TracedSpan traced(const Stretch& of) const {
    return {of.part, of.lane, base_s_ + of.begin.seconds_since(base_),
            std::max(0.0, of.end.seconds_since(of.begin))};
  }

  c10::Device device_;
  Takes takes_ = Takes::times;
  std::map<std::string, std::deque<Stretch>> phases_;  // a deque does not move them
  std::map<std::string, std::size_t> used_;            // of phases_, by the last call
  std::vector<Stretch*> order_;                        // of the last call
  std::vector<Stretch*> captured_;                     // of the newest capture
  std::uint64_t capture_ = 0;
  Stretch* open_ = nullptr;
  std::vector<PhaseMemory> memory_;
  mutable std::mutex spans_mutex_;
  std::deque<Stretch> spans_;
  std::int64_t forgotten_spans_ = 0;  // of earlier calls
  Moment base_{};
  double base_s_ = 0;
  std::string problem_;
};

}  // namespace

std::unique_ptr<Tracer> Tracer::make(const c10::Device& device) {
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) return std::make_unique<TracerOf<DeviceMoment>>(device);
#endif
  return std::make_unique<TracerOf<HostMoment>>(device);
}

}  // namespace assay::measure
