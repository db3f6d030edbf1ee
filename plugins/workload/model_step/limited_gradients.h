#pragma once

#include <map>
#include <string>
#include <vector>

#include "textbook_model.h"

namespace assay::model_step {

// An optimizer's limit of the norm of all gradients, which it leaves scaled.
struct GradientLimit {
  double most;
  double norm;  // of the reference's gradients, unscaled

  double factor_of(double norm_of_all) const;
  double factor() const { return factor_of(norm); }
};

// Of all outputs that are gradients together.
double norm_of_gradients(const std::vector<NamedTensor>& outputs);
void scale_gradients(std::vector<NamedTensor>& outputs, double factor);

// By how much those of a step may be longer than `right`, scaled by the limit's factor: they are
// limited by a norm of their own. Where rounding makes much of the largest gradient it changes that
// norm, and so the length of all others. It is the factor by which those that are known best are
// longer, as far as the norm can change. `allowed`: how far each gradient may be off, relative to
// it.
double factor_of_own_norm(const GradientLimit& limit, const std::vector<NamedTensor>& values,
                          const std::vector<NamedTensor>& right,
                          const std::map<std::string, double>& allowed);

}  // namespace assay::model_step
