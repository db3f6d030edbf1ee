#pragma once

#include <assay/workload.h>

#include <vector>

#include "training/training_state.h"

namespace assay::training {

// From 1 to the next number of the dtype.
double step_of(at::ScalarType dtype);

// Some elements of each parameter, as far as this rank updates it, with the optimizer's state of
// them, ahead of a step. What a variant of `compile` or of communication leaves out of a step shows
// in where they have moved.
class Movement {
 public:
  // Keeps nothing where the state has not been made.
  explicit Movement(const TrainingState& state);

  // How far the step moved them and their moments from where AdamW moves them with the gradients
  // that it left, within this rank. One that overflow has skipped moves nothing and is not compared
  // here.
  void compare(const TrainingState& state, Verification& verification) const;

 private:
  // Of the drawn elements, one slice behind another: [elements] float64 on the CPU.
  struct Elements {
    at::Tensor value, first, second, step;
  };
  Elements taken(const TrainingState& state) const;
  struct Gradients {
    at::Tensor value;    // float64 on the CPU; 0 where there is none
    at::Tensor updates;  // bool: the optimizer takes it
    at::Tensor exact;    // bool: it is what the optimizer took
  };
  Gradients gradients(const TrainingState& state) const;

  std::vector<at::Tensor> places_;  // by slice: of its values, int64 on their device
  Elements before_;
};

}  // namespace assay::training
