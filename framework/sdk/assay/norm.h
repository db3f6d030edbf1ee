#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <assay/plugin.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

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

struct NormGradients {
  at::Tensor dx;
  at::Tensor dweight;
  at::Tensor dbias;  // undefined without a bias
};

// The gradients of a norm in plain operations, for a kernel without a backward. Like x, weight and
// bias.
NormGradients textbook_backward(const NormInputs& in, bool centred, const at::Tensor& dout);

// Runs `forward` without recording a graph and adds the textbook gradients in plain operations, for
// a kernel without a backward.
at::Tensor with_textbook_backward(const NormInputs& in, bool centred,
                                  const std::function<at::Tensor(const NormInputs&)>& forward);

// A residual addition and the norm of its result.
struct AddNormOutput {
  at::Tensor sum;  // residual + x, in the wider of their dtypes
  at::Tensor out;  // norm(sum), like sum
  // What add_backward() needs beside sum and weight, such as statistics; may be empty.
  std::vector<at::Tensor> kept = {};
};

struct AddNormGradients {
  at::Tensor dsum;  // like sum: the gradient of residual and of x
  at::Tensor dweight;
  at::Tensor dbias;  // undefined without a bias
};

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

  // The second entry: (residual, in.x) → (residual + in.x, norm(residual + in.x)). residual has
  // in.x's shape and any strides; under autocast it is wider than in.x. Arguments come by value:
  // what is moved out of them is freed early and its memory reused. The default does both apart,
  // differentiable as forward() is. An override without a backward of its own is differentiable
  // through autograd.
  virtual AddNormOutput add_forward(at::Tensor residual, NormInputs in) {
    in.x = std::exchange(residual, {}) + in.x;
    at::Tensor out = forward(in);
    return {std::move(in.x), std::move(out)};
  }
  // A variant with its own backward of the second entry overrides these two; autograd then calls
  // them. in.x is the sum. dsum and dout are the gradients of both results, in any strides; the
  // sum's own is part of the result: AddNormGradients::dsum = dsum + (gradient through the norm).
  virtual bool has_add_backward() const { return false; }
  virtual AddNormGradients add_backward(const NormInputs& /*in*/,
                                        const std::vector<at::Tensor>& /*kept*/,
                                        const at::Tensor& /*dsum*/, const at::Tensor& /*dout*/) {
    throw Unsupported("no backward");
  }
  virtual std::optional<std::string> unsupported(const NormInputs&) const { return {}; }
};

}  // namespace assay

#include <assay/detail/norm.h>
