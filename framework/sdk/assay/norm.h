#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <assay/plugin.h>

#include <functional>
#include <optional>

namespace assay {

// Normalisation over the last dimension. x: [..., n_cols]; weight, bias: [n_cols]; bias is
// undefined unless the variant has one. Any strides, those of the last dimension included.
// Statistics are taken in fp32, for fp64 in fp64.
//   RMSNorm:   y = weight · x / √(mean(x²) + eps)
//     Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
//   LayerNorm: y = weight · (x − mean(x)) / √(var(x) + eps) + bias, var divided by n_cols
//     Ba, Kiros and Hinton 2016, "Layer Normalization": the statistics are those of equation 3,
//     weight and bias its gain and bias, as in equation 4.
// eps is added under the root; the papers have none.
struct NormInputs {
  at::Tensor x;
  at::Tensor weight;
  at::Tensor bias;
  double eps = 1e-5;
};

// `forward` with the gradients of the textbook's norm, in plain operations: for a kernel that has
// no backward. `forward` is called without recording a graph.
at::Tensor with_textbook_backward(const NormInputs& in, bool centred,
                                  const std::function<at::Tensor(const NormInputs&)>& forward);

class Norm {
 public:
  static constexpr const char* kind = "norm";

  virtual ~Norm() = default;

  // Whether the variant takes a bias parameter (LayerNorm) or not (RMSNorm).
  virtual bool has_bias() const { return false; }
  // Whether it subtracts the mean: which reference it is checked against.
  virtual bool centred() const { return has_bias(); }
  // Returns x's shape and dtype; differentiable through autograd.
  virtual at::Tensor forward(const NormInputs& in) = 0;
  virtual std::optional<std::string> unsupported(const NormInputs&) const { return {}; }
};

}  // namespace assay

#include <assay/detail/norm.h>
