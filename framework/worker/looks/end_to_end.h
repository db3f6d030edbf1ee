#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure/clock.h"
#include "worker/looks/input_renewal.h"

namespace assay::worker {

// Calls of a pass as whoever uses them sees them: from the first one's begin until the outputs of
// all have been read.
struct EndToEnd {
  struct Program {
    const measure::Call& call;
    ProgramBoundary& program;
    InputRenewal& renewal;
  };
  std::vector<Program> row;  // whose calls the clock times as one; one program: each call alone
  int in_a_row = 0;          // calls that the one program makes itself in a reading; 0: it does not
  const std::string& pass;
  at::Device device;
  // Of several ranks: the largest of their values, and a wait for all of them. Empty for one.
  std::function<double(double)> worst_of_ranks = {};
  std::function<void()> meet = {};
};

// Times calls with new inputs to the end of reading their outputs, less reading them once more: up
// to 32 of a row as one batch, or those that the one program makes in a row; else up to 32, on a
// GPU 8, one after the other. `wrong` where they take over twice as long as so many samples show,
// beside what the host needs to launch them, 10 µs each for the GPU to begin, and a moment that all
// of them share, and take so again for two seconds: work that is done when an output is read, or on
// another stream, is in no sample. Afterwards calls find the inputs as they were built. All ranks
// call it together. Throws what the program throws.
Status agrees_with(double sample_s, const EndToEnd& what);

}  // namespace assay::worker
