#pragma once

#include <assay/observer.h>

namespace assay {

// The worker's side of an ObservedPass.
class ObservedPassBoundary : public Boundary {
 public:
  virtual const std::string& pass() const noexcept = 0;
  virtual at::Device device() const noexcept = 0;
  virtual int rank() const noexcept = 0;
  virtual int steps() const noexcept = 0;
  virtual Status build() noexcept = 0;
  virtual Status step() noexcept = 0;
};

class ObserverBoundary : public Boundary {
 public:
  virtual Status fresh(bool& fresh) noexcept = 0;
  virtual Status observe(ObservedPassBoundary& observed, RecorderBoundary& recorder) noexcept = 0;
};

namespace detail {

class ObserverGuard final : public Guard<Observer, ObserverBoundary> {
 public:
  using Guard::Guard;

  Status fresh(bool& fresh) noexcept override {
    return guarded([&] { fresh = plugin_->fresh(); });
  }
  Status observe(ObservedPassBoundary& observed, RecorderBoundary& recorder) noexcept override {
    return guarded([&] {
      Recorder records(recorder);
      plugin_->observe(ObservedPass(observed), records);
    });
  }
};

}  // namespace detail

inline const std::string& ObservedPass::pass() const { return boundary_->pass(); }
inline at::Device ObservedPass::device() const { return boundary_->device(); }
inline int ObservedPass::rank() const { return boundary_->rank(); }
inline int ObservedPass::steps() const { return boundary_->steps(); }
inline void ObservedPass::build() const { throw_unless_ok(boundary_->build()); }
inline void ObservedPass::step() const { throw_unless_ok(boundary_->step()); }

inline std::unique_ptr<Boundary> guard_of(std::unique_ptr<Observer> plugin) {
  return std::make_unique<detail::ObserverGuard>(std::move(plugin));
}

}  // namespace assay
