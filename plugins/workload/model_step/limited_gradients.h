#pragma once

#include <map>
#include <string>
#include <vector>

#include "textbook_model.h"

namespace assay::model_step {

// How far each output may be off, relative to it.
using AllowedErrors = std::map<std::string, double>;

// An optimizer's limit of the norm of all gradients, which it leaves scaled.
struct GradientLimit {
  double most;
  double norm;       // of the reference's gradients, unscaled
  double of_values;  // of those that the step has left

  double factor_of(double norm_of_all) const;
  double factor() const { return factor_of(norm); }
};

// Of all gradients among the outputs together.
double norm_of_gradients(const std::vector<NamedTensor>& outputs);
void scale_gradients(std::vector<NamedTensor>& outputs, double factor);

// Where rounding makes much of the largest gradient it changes the norm of all, and a step scales
// by its own: all its gradients are longer or shorter by one factor than `right`, which the
// limit's factor has scaled. The factor is that of the gradients whose errors are small, no further
// from 1 than `allowed` lets the norm change; 1 / factor() for a step whose norm is below the
// limit, since it has scaled nothing. tolerance: of a norm at the limit.
double factor_of_own_norm(const GradientLimit& limit, const std::vector<NamedTensor>& values,
                          const std::vector<NamedTensor>& right, const AllowedErrors& allowed,
                          double tolerance);

}  // namespace assay::model_step
