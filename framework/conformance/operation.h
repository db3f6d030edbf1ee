#pragma once

#include <assay/reference.h>
#include <assay/workload.h>

#include <functional>
#include <string>
#include <vector>

#include "conformance/check.h"

// A differentiable operation on a few tensors: what attention and norm share.
namespace assay::conformance {

inline constexpr at::ScalarType floating_dtypes[] = {at::kFloat, at::kHalf, at::kBFloat16,
                                                     at::kDouble};

// One expected result, in float64.
struct Expected {
  std::string name;  // "out", or "grad." and the name of an input
  at::Tensor value;
  // Least root mean square that errors are measured against, for gradients whose terms cancel out.
  double floor = 0;
};

struct Operation {
  using Call = std::function<at::Tensor(const std::vector<at::Tensor>& inputs)>;

  std::vector<NamedTensor> inputs;  // all differentiated; strides of the case
  at::Tensor dout;                  // gradient of the output: its shape, dtype and device
  Call call;                        // the plugin's
  Call textbook;                    // LibTorch's plain operations in the same dtype
  // "out", then the gradients in the order of the inputs.
  std::function<std::vector<Expected>()> reference;
  double tolerance = 0;  // relative error allowed for `out`; twice that for gradients
};

// "fp32", "fp16", "bf16", "fp64".
std::string dtype_text(at::ScalarType dtype);
double dtype_tolerance(at::ScalarType dtype);
double root_mean_square(const at::Tensor& tensor);

// ‖value − expected‖ / max(‖expected‖, floor · √elements), or the farthest row's error
// (reference::Deviation) divided by reference::row_allowance if that is larger. Infinite where
// `value` is not finite. The floor is at least that of fp16's smallest steps.
double relative_error(const at::Tensor& value, const Expected& expected);

// Adds a comparison to the verdict: the error against `allowed` and, where it is larger, the place
// where `value` is farthest off.
void compare(CheckVerdict& verdict, const Expected& expected, const at::Tensor& value,
             double allowed);

// Each result may be off by its tolerance or twice the textbook's error, but never by half.
CheckVerdict agrees(const Operation& operation, bool with_gradients);
// Two calls give the same bits. Gradients that differ within tolerance are only noted, since sums
// by atomic additions are common.
CheckVerdict repeats(const Operation& operation);
CheckVerdict leaves_inputs_alone(const Operation& operation);
CheckVerdict well_formed(const Operation& operation, at::IntArrayRef sizes);
CheckVerdict same_without_gradients(const Operation& operation);
// agrees() while unwritten memory holds NaN.
CheckVerdict agrees_on_poisoned_memory(const Operation& operation);
CheckVerdict frees_memory(const Operation& operation);
// agrees() on a stream other than the default one, with inputs still being written.
CheckVerdict agrees_on_another_stream(const std::function<Operation()>& make,
                                      const at::Device& device);

struct NamedOperation {
  std::string text;
  std::function<Operation()> make;
};
std::vector<Check> common_operation_checks(const std::vector<NamedOperation>& operations,
                                           const at::Device& device);

}  // namespace assay::conformance
