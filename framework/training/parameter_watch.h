#pragma once

#include <assay/workload.h>

#include <cstdint>
#include <vector>

#include "training/training_step.h"

namespace assay::training {

// Some elements of each parameter, as far as this rank updates it. References are computed from the
// parameters, so that a call which made simpler ones of them would pass for right.
class ParameterWatch {
 public:
  // Made before a pass has run.
  explicit ParameterWatch(const TrainingStep& step);

  // An infinite error where a parameter is not what it was the last time, or, where the optimizer
  // has made steps since, is farther from it than AdamW moves anything in so many, or the optimizer
  // counts fewer steps than before. Within this rank.
  void compare(const TrainingStep& step, Verification& verification);

 private:
  // In no tensors: their memory would count as the step's.
  struct Elements {
    std::vector<double> values;  // one slice's behind another's
    double steps = 0;            // of the optimizer
  };
  Elements taken(const TrainingState& state) const;

  std::vector<std::vector<std::int64_t>> places_;  // by slice: of its values
  std::vector<std::size_t> parameters_;            // by element: its index among the model's
  Elements before_;
};

}  // namespace assay::training
