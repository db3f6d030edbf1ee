#pragma once

#include <string>

#include "measure/clock.h"
#include "worker/case/input_renewal.h"

namespace assay::worker {

// A call as whoever uses it sees it: from its begin until its outputs have been read.
struct EndToEnd {
  const measure::Call& call;
  ProgramBoundary& program;
  InputRenewal& renewal;
  const std::string& pass;
  at::Device device;
};

// Times some calls with new inputs, each to the end of reading its outputs, less reading them once
// more. `wrong` where even the shortest takes over twice as long as a sample shows, beside what the
// host needs to launch it: work that is done when an output is read is in no sample. Afterwards
// calls find the inputs as they were built. Throws what the program throws.
Status agrees_with(double sample_s, const EndToEnd& what);

}  // namespace assay::worker
