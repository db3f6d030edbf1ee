#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "history.h"

namespace assay::memory {

// Memory over time: values[i] holds from times_s[i] until the next. Times ascend.
struct Points {
  std::vector<double> times_s;
  std::vector<double> allocated;
  std::vector<double> reserved;
};

// Of every event, or where there are more than the limit, of each stretch of events the first and
// last and those with the least and the most allocated: peaks and dips stay.
Points points_of(const History& history, std::size_t most = 4000);

// Of one phase, a value for each step; "" is the whole step.
struct PhaseFigures {
  std::string name;
  std::vector<double> peak, floor;  // allocated
  std::vector<double> reserved_peak, reserved_floor;
  std::vector<double> device;
};

// In the order of their first occurrence. What a step has set up ahead is left out; so is the
// first step where there are more: it makes workspaces and the optimizer's state.
std::vector<PhaseFigures> phase_figures(const History& history);

// Allocations of one size by one operator in one part of the model, in the last step.
struct Allocation {
  std::string op;
  std::string path;  // its ranges without numbers, such as forward;block;attention
  Bytes size = 0;
  std::int64_t count = 0;
  std::vector<void*> stack;                 // of one of them
  std::vector<std::string> functions = {};  // of the stack, once it is symbolised

  Bytes sum() const { return size * count; }
  // "aten::bmm in forward;block;attention".
  std::string from() const;
};

// The largest, by size and then by their sum.
std::vector<Allocation> largest_allocations(const History& history, std::size_t most = 50);

struct SavedRow {
  std::string from;
  double bytes = 0;
};

// What is kept for the backward, where it begins.
struct SavedFigures {
  std::vector<SavedRow> operators;  // of one block, their mean, by operator; the largest first
  std::vector<SavedRow> blocks;     // "block 0", …, "embedding", "head"
  double total = 0;
};

SavedFigures saved_figures(const History& history);

}  // namespace assay::memory
