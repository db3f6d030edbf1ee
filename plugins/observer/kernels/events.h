#pragma once

// What a profiler saw, as plain values: analysis and drawing know nothing of LibTorch.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::kernels {

constexpr std::string_view step_range = "assay.step";  // around each timed step
constexpr std::string_view call_range = "assay.call";  // around each call of an observer

using Nanoseconds = std::int64_t;

struct Interval {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  Nanoseconds length() const { return end - begin; }
};

// A stretch of a host thread: an operator, a node of autograd's backward, or a range of the
// program.
struct HostEvent {
  enum class Kind { operation, backward, range };
  std::string name;
  Kind kind = Kind::operation;
  Interval time;
  std::uint64_t thread = 0;
  std::uint64_t id = 0;  // what device work names as its operator
  // Of autograd: of a backward node its own, else that of the next node to be made; -1: none.
  std::int64_t sequence = -1;
  std::uint64_t forward_thread = 0;  // of a backward node: where it was made
  double flops = 0;                  // of an operator alone, without its callees
};

// A call that puts work on a device.
struct Launch {
  Interval time;
  std::uint64_t thread = 0;
  std::uint64_t correlation = 0;
  std::string name;
};

struct DeviceEvent {
  enum class Kind { kernel, copy, fill };
  std::string name;  // demangled
  Kind kind = Kind::kernel;
  Interval time;
  int device = 0;
  std::int64_t stream = 0;
  std::uint64_t correlation = 0;  // of its launch
  std::uint64_t operation = 0;    // id of the operator that launched it; 0: none
};

// Times on one clock.
struct Events {
  std::vector<HostEvent> host;
  std::vector<Launch> launches;
  std::vector<DeviceEvent> device;
  // Where collection stopped before the end, having met its limit; 0: it did not.
  Nanoseconds cut = 0;
};

}  // namespace assay::kernels
