#pragma once

#include <assay/workload.h>

#include <functional>
#include <string>
#include <vector>

#include "conformance/check.h"

// What attention and norms have in common: a differentiable operation on a few tensors.
namespace assay::conformance {

inline constexpr at::ScalarType floating_dtypes[] = {at::kFloat, at::kHalf, at::kBFloat16,
                                                     at::kDouble};

// One result in float64.
struct Expected {
  std::string name;  // "out", or "grad." and the name of an input
  at::Tensor value;
  // Root mean square that rounding errors are measured against where the value's own is smaller,
  // as where the terms of a gradient cancel out.
  double floor = 0;
};

// An operation on one set of inputs.
struct Operation {
  using Call = std::function<at::Tensor(const std::vector<at::Tensor>& inputs)>;

  std::vector<NamedTensor> inputs;  // all are differentiated; strides as the case has them
  at::Tensor dout;                  // gradient of the output: its shape, dtype and device
  Call call;                        // the plugin's
  Call textbook;                    // the same in LibTorch's plain operations, in the same dtype
  // "out", then the gradients in the order of the inputs.
  std::function<std::vector<Expected>()> reference;
  double tolerance = 0;  // relative error that `out` may have; gradients may have twice that
};

// fp32, fp16, bf16, fp64.
std::string dtype_text(at::ScalarType dtype);
double dtype_tolerance(at::ScalarType dtype);
double root_mean_square(const at::Tensor& tensor);

// ‖value − expected‖ / max(‖expected‖, floor · √elements), or that of the row that is farthest off
// (model::Deviation) by model::row_allowance, whichever is more; infinite where `value` is not
// finite. The floor is at least what fp16's smallest steps call for.
double relative_error(const at::Tensor& value, const Expected& expected);

// Adds a comparison to the verdict: error against `allowed`, and where it is beyond that, by how
// much and where `value` is farthest off.
void compare(CheckVerdict& verdict, const Expected& expected, const at::Tensor& value,
             double allowed);

// Each result may be off by its tolerance, or by twice what the textbook's is off, never by half.
CheckVerdict agrees(const Operation& operation, bool with_gradients);
// Two calls give the same bits. Gradients that differ within their tolerance are only noted: sums
// by atomic additions are common.
CheckVerdict repeats(const Operation& operation);
CheckVerdict leaves_inputs_alone(const Operation& operation);
// Shape, dtype, device and finite values of the output.
CheckVerdict well_formed(const Operation& operation, at::IntArrayRef sizes);
// The same output with and without recording a graph.
CheckVerdict same_without_gradients(const Operation& operation);
// As agrees(), while memory that nobody has written holds NaN.
CheckVerdict agrees_on_poisoned_memory(const Operation& operation);
// Calls leave no memory allocated.
CheckVerdict frees_memory(const Operation& operation);
// All results on a stream other than the default one, with inputs that are still being written.
CheckVerdict agrees_on_another_stream(const std::function<Operation()>& make,
                                      const at::Device& device);

// The checks that need nothing but a few operations to run on.
struct NamedOperation {
  std::string text;
  std::function<Operation()> make;
};
std::vector<Check> common_operation_checks(const std::vector<NamedOperation>& operations,
                                           const at::Device& device);

}  // namespace assay::conformance
