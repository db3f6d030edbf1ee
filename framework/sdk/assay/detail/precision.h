#pragma once

#include <assay/precision.h>

namespace assay {

class PrecisionBoundary : public Boundary {
 public:
  virtual Status policy(PrecisionPolicy& policy) noexcept = 0;
  virtual Status wrap(Ops& ops) noexcept = 0;
};

namespace detail {

class PrecisionGuard final : public Guard<Precision, PrecisionBoundary> {
 public:
  using Guard::Guard;

  Status policy(PrecisionPolicy& policy) noexcept override {
    return guarded([&] { policy = plugin_->policy(); });
  }
  Status wrap(Ops& ops) noexcept override {
    return guarded([&] { plugin_->wrap(ops); });
  }
};

}  // namespace detail

inline std::unique_ptr<Boundary> guard_of(std::unique_ptr<Precision> plugin) {
  return std::make_unique<detail::PrecisionGuard>(std::move(plugin));
}

}  // namespace assay
