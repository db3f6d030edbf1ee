#pragma once

#include <ATen/core/Tensor.h>
#include <assay/plugin.h>

#include <optional>

namespace assay {

// Normalisation over the last dimension. x: [..., n_cols]; weight, bias: [n_cols]; bias is
// undefined unless the variant has one. Statistics are taken in fp32 whatever x's dtype is.
struct NormInputs {
  at::Tensor x;
  at::Tensor weight;
  at::Tensor bias;
  double eps = 1e-5;
};

class Norm {
 public:
  static constexpr const char* kind = "norm";
  template <class T>
  class Guard;

  virtual ~Norm() = default;

  // Whether the variant takes a bias parameter (LayerNorm) or not (RMSNorm).
  virtual bool has_bias() const { return false; }
  // Whether it subtracts the mean: which reference it is checked against.
  virtual bool centred() const { return has_bias(); }
  // Returns x's shape and dtype; differentiable through autograd.
  virtual at::Tensor forward(const NormInputs& in) = 0;
  virtual std::optional<std::string> unsupported(const NormInputs&) const { return {}; }
};

class NormBoundary : public Boundary {
 public:
  virtual Status traits(bool& has_bias, bool& centred) noexcept = 0;
  virtual Status forward(const NormInputs& in, at::Tensor& out) noexcept = 0;
  virtual Status unsupported(const NormInputs& in, std::optional<std::string>& reason) noexcept = 0;
};

template <class T>
class Norm::Guard final : public NormBoundary {
 public:
  template <class... Arguments>
  explicit Guard(const Arguments&... arguments) : plugin_(arguments...) {}

  Status traits(bool& has_bias, bool& centred) noexcept override {
    return guarded([&] {
      has_bias = plugin_.has_bias();
      centred = plugin_.centred();
    });
  }
  Status forward(const NormInputs& in, at::Tensor& out) noexcept override {
    return guarded([&] { out = plugin_.forward(in); });
  }
  Status unsupported(const NormInputs& in, std::optional<std::string>& reason) noexcept override {
    return guarded([&] { reason = plugin_.unsupported(in); });
  }

 private:
  T plugin_;
};

}  // namespace assay
