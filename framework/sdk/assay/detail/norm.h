#pragma once

#include <assay/norm.h>

namespace assay {

class NormBoundary : public Boundary {
 public:
  virtual Status traits(bool& has_bias, bool& centred) noexcept = 0;
  virtual Status forward(const NormInputs& in, at::Tensor& out) noexcept = 0;
  virtual Status unsupported(const NormInputs& in, std::optional<std::string>& reason) noexcept = 0;
};

namespace detail {

class NormGuard final : public Guard<Norm, NormBoundary> {
 public:
  using Guard::Guard;

  Status traits(bool& has_bias, bool& centred) noexcept override {
    return guarded([&] {
      has_bias = plugin_->has_bias();
      centred = plugin_->centred();
    });
  }
  Status forward(const NormInputs& in, at::Tensor& out) noexcept override {
    return guarded([&] { out = plugin_->forward(in); });
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
