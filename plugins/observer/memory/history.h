#pragma once

// What the allocator did, as plain values: the figures and files made of it know nothing of
// LibTorch. Bytes, and seconds on the case's time base.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../kernels/paths.h"

namespace assay::memory {

using kernels::Paths;
using Bytes = std::int64_t;

// Where an allocation came from: the ranges around it, as the module path, and the operator.
struct Origin {
  int path = Paths::none;
  int op = 0;  // of History::operators; 0: none

  auto operator<=>(const Origin&) const = default;
};

struct Event {
  enum class Action { allocate, free, free_completed, segment, segment_free, out_of_memory };
  Action action = Action::allocate;
  double time_s = 0;
  std::uint64_t address = 0;
  Bytes size = 0;       // of the block, or of what was asked for in vain
  Bytes allocated = 0;  // after it
  Bytes reserved = 0;   // after it; on a CPU 0
  std::uint64_t stream = 0;
  Origin origin;
};

struct Level {
  Bytes allocated = 0;
  Bytes reserved = 0;
  Bytes device = 0;  // in use as the device itself says, or on a CPU the process's resident memory
};

struct Extent {
  Bytes least = 0;
  Bytes most = 0;
};

// A phase of a step: an outermost range of it. step: from 1; 0 while the program is built. The
// whole step is the phase "", and what lies ahead of it, such as clearing gradients, "set-up".
struct Phase {
  std::string name;
  int step = 0;
  double begin_s = 0;
  double end_s = 0;
  Extent allocated;
  Extent reserved;
  Bytes device = 0;  // the larger of its begin and its end
};

// Allocations of one size from one place.
struct Site {
  Origin origin;
  Bytes size = 0;
  int step = 0;            // the last step that made some
  std::int64_t count = 0;  // in it
  std::vector<void*> stack;
};

// What autograd has saved from one place, each storage once.
struct Saved {
  Origin origin;
  Bytes bytes = 0;
};

struct Block {
  std::uint64_t address = 0;
  Bytes size = 0;
  Bytes requested = 0;
  bool allocated = false;
  Origin origin;
};

// A stretch that the allocator has from the device; on a CPU a live allocation.
struct Segment {
  std::uint64_t address = 0;
  Bytes size = 0;
  std::uint64_t stream = 0;
  bool large = true;
  bool expandable = false;
  std::vector<Block> blocks;
};

struct History {
  bool on_device = false;
  int device = 0;        // its number
  int steps = 0;         // begun
  bool cut = false;      // more happened than is kept
  double unix_s = 0;     // time of the day at zero of the time base
  Level built;           // once the program was built
  Level end;             // after the last step
  Bytes saved_most = 0;  // saved at once in the last step
  std::vector<Event> events;
  std::vector<Phase> phases;  // in the order of their begin
  std::vector<Site> sites;
  std::vector<Saved> saved;  // in the last step, where its backward began or at its end
  std::vector<Segment> segments;
  std::vector<std::string> operators = {""};
  Paths paths;
};

// What of it is kept at most.
struct Limits {
  std::size_t events = 100'000;
  std::size_t phases = 10'000;
  std::size_t sites = 20'000;
  std::size_t operators = 10'000;
  std::size_t paths = 50'000;
};

}  // namespace assay::memory
