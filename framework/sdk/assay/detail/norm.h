#pragma once

#include <assay/norm.h>

namespace assay {

struct NormTraits {
  bool has_bias = false;
  bool centred = false;
  bool has_add_backward = false;
};

class NormBoundary : public Boundary {
 public:
  virtual Status traits(NormTraits& traits) noexcept = 0;
  virtual Status forward(const NormInputs& in, at::Tensor& out) noexcept = 0;
  virtual Status add_forward(at::Tensor residual, NormInputs in, AddNormOutput& out) noexcept = 0;
  virtual Status add_backward(const NormInputs& in, const std::vector<at::Tensor>& kept,
                              const at::Tensor& dsum, const at::Tensor& dout,
                              AddNormGradients& gradients) noexcept = 0;
  virtual Status unsupported(const NormInputs& in, std::optional<std::string>& reason) noexcept = 0;
};

namespace detail {

class NormGuard final : public Guard<Norm, NormBoundary> {
 public:
  using Guard::Guard;

  Status traits(NormTraits& traits) noexcept override {
    return guarded([&] {
      traits = {plugin_->has_bias(), plugin_->centred(), plugin_->has_add_backward()};
    });
  }
  Status forward(const NormInputs& in, at::Tensor& out) noexcept override {
    return guarded([&] { out = plugin_->forward(in); });
  }
  Status add_forward(at::Tensor residual, NormInputs in, AddNormOutput& out) noexcept override {
    return guarded([&] { out = plugin_->add_forward(std::move(residual), std::move(in)); });
  }
  Status add_backward(const NormInputs& in, const std::vector<at::Tensor>& kept,
                      const at::Tensor& dsum, const at::Tensor& dout,
                      AddNormGradients& gradients) noexcept override {
    return guarded([&] { gradients = plugin_->add_backward(in, kept, dsum, dout); });
  }
  Status unsupported(const NormInputs& in, std::optional<std::string>& reason) noexcept override {
    return guarded([&] { reason = plugin_->unsupported(in); });
  }
};

}  // namespace detail

inline std::unique_ptr<Boundary> guard_of(std::unique_ptr<Norm> plugin) {
  return std::make_unique<detail::NormGuard>(std::move(plugin));
}

}  // namespace assay
