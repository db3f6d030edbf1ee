#pragma once

#include <assay/workload.h>

#include <string>
#include <vector>

#include "store/records/case_facts.h"

namespace assay::worker {

// What one call left behind, reduced to what tells another result from it and kept in host memory:
// of each tensor its norm, and its elements, or 4096 seeded ones of them.
struct OutputSummary {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::int64_t bytes = 0;
  double norm = 0;  // NaN or infinite where an element is; 0 for tensors of integers
  std::vector<double> elements;
};

// Throws what the program throws, as PluginFailure. Waits for the device.
std::vector<OutputSummary> summarise_outputs(ProgramBoundary& program, const std::string& pass);

// Follows what the calls of a timed program leave behind. Every call starts from the same inputs,
// so all must leave the same, but for a rounding that the tolerance allows; only "train_step" moves
// its state on. No call may leave NaN or infinity. Under loss scaling gradients may: they overflow
// until the scale has adapted.
class OutputCheck {
 public:
  // tolerance: how far, relative to its norm, a tensor may be from that of the first call.
  OutputCheck(std::string pass, const PrecisionPolicy& precision, double tolerance);

  // Looks at what the program's last call left.
  void look(ProgramBoundary& program);

  // Bytes of the outputs at the last look.
  std::int64_t bytes() const;
  // ok, or `wrong` with the first thing that was found.
  const Status& status() const { return status_; }
  store::RepeatedOutputs facts() const;

 private:
  void check_finite(const OutputSummary& output);
  void compare(const OutputSummary& first, const OutputSummary& later);
  void found(std::string reason);
  bool may_overflow(const OutputSummary& output) const;

  std::string pass_;
  bool repeats_;
  bool loss_scaling_;
  double tolerance_;
  std::vector<OutputSummary> first_;
  std::vector<OutputSummary> last_;
  int looks_ = 0;
  double change_ = 0;  // the largest seen
  Status status_;
};

}  // namespace assay::worker
