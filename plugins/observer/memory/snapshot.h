#pragma once

#include <string>
#include <vector>

#include "figures.h"

namespace assay::memory {

// Names the functions of their stacks, innermost first, without LibTorch's dispatch and those that
// no table of symbols names.
void symbolise(std::vector<Allocation>& allocations);

struct Snapshot {
  std::string pickle;
  std::size_t left_out = 0;  // of the oldest events
};

// What torch.cuda.memory._dump_snapshot writes, for https://pytorch.org/memory_viz: the segments at
// the end, and the newest events that fit. A frame is an operator or a range; those of the largest
// allocations have their C++ stack behind it.
Snapshot snapshot_of(const History& history, const std::vector<Allocation>& largest,
                     std::size_t most_bytes = std::size_t{32} << 20);

// The largest allocations with their stacks, as text.
std::string allocations_text(const std::vector<Allocation>& largest);

}  // namespace assay::memory
