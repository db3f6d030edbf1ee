#pragma once

#include <assay/workload.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store/records/case_facts.h"

namespace assay::worker {

// One call's outputs reduced to host memory: of each tensor its norm and its elements, or 4096
// seeded ones of them.
struct OutputSummary {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::int64_t bytes = 0;
  double norm = 0;  // NaN or infinite where an element is; 0 for integer tensors
  std::vector<double> elements;
};

// By sizes and strides, offsets in host memory of the elements that a summary has.
using SampledPlaces =
    std::map<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>, at::Tensor>;

// "holds NaN", "holds infinity"; "" where the tensor of that name may hold what its norm shows.
// Gradients overflow under loss scaling until the scale has adapted, and those of a training step
// may be of any size: its loss shows the damage.
std::string not_allowed(const std::string& output, double norm, const std::string& pass,
                        bool loss_scaling);

// In fp32 or wider, a scalar on the tensor's device.
at::Tensor norm_of(const at::Tensor& tensor);

// Throws PluginFailure where the program throws. Waits for the device.
std::vector<OutputSummary> summarise_outputs(ProgramBoundary& program, const std::string& pass,
                                             SampledPlaces& known);

// Compares the outputs of a timed program's calls. All calls start from the same inputs, so they
// must leave the same outputs within a tolerance; only "train_step" may move its state on. No call
// may leave NaN or infinity, except gradients under loss scaling, which overflow until the scale
// has adapted.
class OutputCheck {
 public:
  // tolerance: largest relative distance of a tensor from the first call's.
  OutputCheck(std::string pass, const PrecisionPolicy& precision, double tolerance);

  void look(ProgramBoundary& program);

  // Bytes of the outputs at the last look.
  std::int64_t bytes() const;
  // ok, or `wrong` with the first finding.
  const Status& status() const { return status_; }
  store::RepeatedOutputs facts() const;

 private:
  void compare(const OutputSummary& first, const OutputSummary& later);
  void found(std::string reason);

  std::string pass_;
  bool repeats_;
  bool loss_scaling_;
  double tolerance_;
  std::vector<OutputSummary> first_;
  std::vector<OutputSummary> last_;
  SampledPlaces places_;
  int looks_ = 0;
  double change_ = 0;  // largest so far
  Status status_;
};

}  // namespace assay::worker
