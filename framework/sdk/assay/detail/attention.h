#pragma once

#include <assay/attention.h>

namespace assay {

struct AttentionTraits {
  bool has_backward = false;
  bool differentiable = true;
  bool grouped = false;
  bool windowed = false;
};

class AttentionBoundary : public Boundary {
 public:
  virtual Status forward(const AttentionInputs& in, at::Tensor& out) noexcept = 0;
  virtual Status forward_with_lse(const AttentionInputs& in, AttentionOutput& out) noexcept = 0;
  virtual Status backward(const AttentionInputs& in, const at::Tensor& out, const at::Tensor& lse,
                          const at::Tensor& dout, AttentionGradients& gradients) noexcept = 0;
  virtual Status traits(AttentionTraits& traits) noexcept = 0;
  virtual Status unsupported(const AttentionInputs& in,
                             std::optional<std::string>& reason) noexcept = 0;
};

namespace detail {

// What the variant does not declare, before it is called.
inline std::optional<std::string> undeclared(const Attention& attention,
                                             const AttentionInputs& in) {
  if (in.q.size(1) != in.k.size(1) && !attention.grouped()) {
    return "it takes as many heads of k and v as of q";
  }
  if (in.window > 0 && !attention.windowed()) return "it has no window";
  return {};
}

class AttentionGuard final : public Guard<Attention, AttentionBoundary> {
 public:
  using Guard::Guard;

  Status forward(const AttentionInputs& in, at::Tensor& out) noexcept override {
    return guarded([&] { out = declared(in).forward(in); });
  }
  Status forward_with_lse(const AttentionInputs& in, AttentionOutput& out) noexcept override {
    return guarded([&] { out = declared(in).forward_with_lse(in); });
  }
  Status backward(const AttentionInputs& in, const at::Tensor& out, const at::Tensor& lse,
                  const at::Tensor& dout, AttentionGradients& gradients) noexcept override {
    return guarded([&] { gradients = declared(in).backward(in, out, lse, dout); });
  }
  Status traits(AttentionTraits& traits) noexcept override {
    return guarded([&] {
      traits = {plugin_->has_backward(), plugin_->differentiable(), plugin_->grouped(),
                plugin_->windowed()};
    });
  }
  Status unsupported(const AttentionInputs& in,
                     std::optional<std::string>& reason) noexcept override {
    return guarded([&] {
      reason = undeclared(*plugin_, in);
      if (!reason) reason = plugin_->unsupported(in);
    });
  }

 private:
  Attention& declared(const AttentionInputs& in) const {
    if (auto reason = undeclared(*plugin_, in)) throw Unsupported(std::move(*reason));
    return *plugin_;
  }
};

}  // namespace detail

inline std::unique_ptr<Boundary> guard_of(std::unique_ptr<Attention> plugin) {
  return std::make_unique<detail::AttentionGuard>(std::move(plugin));
}

}  // namespace assay
