#pragma once

#include <string>

#include "measure/clock.h"
#include "worker/looks/input_renewal.h"

namespace assay::worker {

// A call as whoever uses it sees it: from its begin until its outputs have been read.
struct EndToEnd {
  const measure::Call& call;
  ProgramBoundary& program;
  InputRenewal& renewal;
  const std::string& pass;
  at::Device device;
};

// Times a call with new inputs to the end of reading its outputs, less reading them once more.
// `wrong` where that takes over twice as long as a sample shows, beside what the host needs to
// launch it, and takes so again for two seconds: work that is done when an output is read is in no
// sample. Afterwards calls find the inputs as they were built. Throws what the program throws.
Status agrees_with(double sample_s, const EndToEnd& what);

}  // namespace assay::worker
