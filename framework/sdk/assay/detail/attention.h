#pragma once

#include <assay/attention.h>

namespace assay {

class AttentionBoundary : public Boundary {
 public:
  virtual Status forward(const AttentionInputs& in, at::Tensor& out) noexcept = 0;
  virtual Status forward_with_lse(const AttentionInputs& in, AttentionOutput& out) noexcept = 0;
  virtual Status backward(const AttentionInputs& in, const at::Tensor& out, const at::Tensor& lse,
                          const at::Tensor& dout, AttentionGradients& gradients) noexcept = 0;
  virtual Status traits(bool& has_backward, bool& differentiable) noexcept = 0;
  virtual Status unsupported(const AttentionInputs& in,
                             std::optional<std::string>& reason) noexcept = 0;
};

namespace detail {

class AttentionGuard final : public Guard<Attention, AttentionBoundary> {
 public:
  using Guard::Guard;

  Status forward(const AttentionInputs& in, at::Tensor& out) noexcept override {
    return guarded([&] { out = plugin_->forward(in); });
  }
  Status forward_with_lse(const AttentionInputs& in, AttentionOutput& out) noexcept override {
    return guarded([&] { out = plugin_->forward_with_lse(in); });
  }
  Status backward(const AttentionInputs& in, const at::Tensor& out, const at::Tensor& lse,
                  const at::Tensor& dout, AttentionGradients& gradients) noexcept override {
    return guarded([&] { gradients = plugin_->backward(in, out, lse, dout); });
  }
  Status traits(bool& has_backward, bool& differentiable) noexcept override {
    return guarded([&] {
      has_backward = plugin_->has_backward();
      differentiable = plugin_->differentiable();
    });
  }
  Status unsupported(const AttentionInputs& in,
                     std::optional<std::string>& reason) noexcept override {
    return guarded([&] { reason = plugin_->unsupported(in); });
  }
};

}  // namespace detail

inline std::unique_ptr<Boundary> guard_of(std::unique_ptr<Attention> plugin) {
  return std::make_unique<detail::AttentionGuard>(std::move(plugin));
}

}  // namespace assay
