#pragma once

#include <assay/ops.h>
#include <assay/record.h>

#include <string>
#include <vector>

namespace assay::dtype_trace {

// Dtypes of the tensors that a step makes, by what they are, in the order in which they were first
// seen.
class ObservedDtypes {
 public:
  // taken: where the operation ran that made it, such as "inside autocast".
  void see(const std::string& what, const at::Tensor& tensor, const std::string& taken);
  void see(const std::string& what, const std::vector<at::Tensor>& tensors,
           const std::string& taken);

  // "dtype" (several joined by " and "), "element_size" (of the widest) and "taken", by part.
  void record(Recorder& recorder) const;

 private:
  struct Entry {
    std::string what;
    std::vector<at::ScalarType> dtypes;
    std::string taken;
  };
  std::vector<Entry> entries_;
};

// What the optimizer is given: where fp32 copies are, its parameters are these.
void see_optimizer(ObservedDtypes& observed, const OptimizerInputs& in);

}  // namespace assay::dtype_trace
