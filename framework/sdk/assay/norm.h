#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <assay/plugin.h>

#include <functional>
#include <optional>

namespace assay {

// Normalisation over the last dimension. x: [..., n_cols]; weight, bias: [n_cols]; bias is
// undefined unless the variant has one. All strides are arbitrary, the last included. Statistics
// are in fp32, or fp64 for fp64 inputs. eps is added under the root; the papers have none.
//   RMSNorm:   y = weight · x / √(mean(x²) + eps)
//     Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
//   LayerNorm: y = weight · (x − mean(x)) / √(var(x) + eps) + bias, var divided by n_cols
//     Ba, Kiros and Hinton 2016, "Layer Normalization", equations 3 (statistics) and 4 (gain,
//     bias).
struct NormInputs {
  at::Tensor x;
  at::Tensor weight;
  at::Tensor bias;
  double eps = 1e-5;
};

// Runs `forward` without recording a graph and adds the textbook gradients in plain operations, for
// a kernel without a backward.
at::Tensor with_textbook_backward(const NormInputs& in, bool centred,
                                  const std::function<at::Tensor(const NormInputs&)>& forward);

class Norm {
 public:
  static constexpr const char* kind = "norm";

  virtual ~Norm() = default;

  // Whether the variant takes a bias (LayerNorm) or not (RMSNorm).
  virtual bool has_bias() const { return false; }
  // Whether it subtracts the mean; selects the reference it is checked against.
  virtual bool centred() const { return has_bias(); }
  // Returns x's shape and dtype, differentiable through autograd. Throws Unsupported for inputs it
  // cannot handle.
  virtual at::Tensor forward(const NormInputs& in) = 0;
  virtual std::optional<std::string> unsupported(const NormInputs&) const { return {}; }
};

}  // namespace assay

#include <assay/detail/norm.h>
