#pragma once

#include <functional>
#include <string>
#include <vector>

#include "textbook_model.h"

namespace assay::model_step {

// Null where none has the name.
const at::Tensor* tensor_named(const std::vector<NamedTensor>& tensors, const std::string& name);

// Of each output.
std::vector<double> norms_of(const std::vector<NamedTensor>& outputs);

// A batch in parts of as many sequences as are taken at once, from a drawn one on.
class Parts {
 public:
  Parts(const LookedAtStep& step, std::int64_t drawn);

  static constexpr const char* pass = "forward_backward";
  std::int64_t at_once() const { return at_once_; }
  std::int64_t number() const { return batch_ / at_once_; }
  Sequences operator[](std::int64_t i) const {
    return {at_once_ == batch_ ? 0 : (drawn_ + i) % batch_, at_once_};
  }

 private:
  std::int64_t batch_, at_once_, drawn_;
};

// Loss and gradients of this rank's batch by textbook operations in fp32.
struct BatchReference {
  std::vector<NamedTensor> outputs;
  UsualErrors
      usual;  // of the first part, relative to its own outputs; none if the step's are known
  std::vector<double> norms;  // of the first part's outputs
};

BatchReference whole_batch(const LookedAtStep& step, const Parts& parts);

// By how much the batch's outputs are smaller than the first part's, at least 1: gradients of
// sequences differ in direction, so that their mean may be far smaller than each. Its error is not.
UsualErrors cancelled(const BatchReference& right);

// In the case's precision.
std::vector<NamedTensor> usual_outputs(const LookedAtStep& step, const Sequences& of,
                                       const std::string& pass);
// The batch's, beside `right` or, where the GPU has room for one of them alone, while that is on
// the host. Gradients are added up in fp32 at least. draw: TextbookModel's.
std::vector<NamedTensor> usual_of_batch(const LookedAtStep& step, const Parts& parts,
                                        std::vector<NamedTensor>& right, int draw);
UsualErrors usual_errors(const std::vector<NamedTensor>& usual,
                         const std::vector<NamedTensor>& right);

}  // namespace assay::model_step
