#pragma once

#include <assay/workload.h>

#include <vector>

#include "training/training_state.h"

namespace assay::model_step {

// Some elements of what an optimizer updates, with its state, ahead of a step. One rank alone, and
// no loss scaling: of others nothing is kept.
class Movement {
 public:
  Movement(const training::TrainingState& state, const CaseContext& context);
  // How far the step moved them from where AdamW moves them with the gradients that it left; no
  // comparison where nothing was kept.
  void compare(const training::TrainingState& state, double tolerance,
               Verification& verification) const;

 private:
  struct Elements {
    at::Tensor places;                // of the slice, int64 on the CPU
    at::Tensor value, first, second;  // float64 on the CPU
    double step = 0;
  };
  static Elements taken(const training::TrainingState& state, std::size_t slice,
                        const at::Tensor& places);

  std::vector<Elements> kept_;
};

}  // namespace assay::model_step
