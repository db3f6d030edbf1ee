#pragma once

#include <assay/record.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace assay::measure {

struct PhaseTime {
  std::string phase;
  double s = 0;  // of all its occurrences in one call
};

struct PhaseMemory {
  std::string phase;
  std::int64_t floor_bytes = 0;  // allocated when it first began
  std::int64_t peak_bytes = 0;   // most allocated during it
};

struct TracedSpan {
  std::string part;
  std::string lane;
  double start_s = 0;  // on host_now_s()'s clock
  double duration_s = 0;
};

// Notes the phases and spans of a program's calls: on a GPU by events on the current stream, which
// become part of a captured step and are then taken by each replay; on a CPU by the host's clock,
// where another thread may end a span.
// The readers throw std::runtime_error for phases that overlap or did not end and for more than
// 10,000 phases or 1,000,000 spans in a call.
class Tracer : public TraceBoundary {
 public:
  enum class Takes { times, memory, spans };

  static std::unique_ptr<Tracer> make(const c10::Device& device);

  // What the calls that follow are asked for. `times` at first.
  virtual void take(Takes takes) = 0;
  // Ahead of each call. A call that then names no phase is taken for the replay of a captured one.
  virtual void begin_call() = 0;
  // Of the last call, whose work on the device is done, in the order of their first occurrence.
  virtual std::vector<PhaseTime> times() const = 0;
  // Empty where the call was a replay, whose memory was taken when it was captured.
  virtual std::vector<PhaseMemory> memory() const = 0;
  // Phases too, in the lane "phases".
  virtual std::vector<TracedSpan> spans() const = 0;
};

}  // namespace assay::measure
