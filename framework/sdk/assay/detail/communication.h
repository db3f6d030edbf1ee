#pragma once

#include <assay/communication.h>

namespace assay {

class CommunicationBoundary : public Boundary {
 public:
  virtual Status attach(const std::vector<at::Tensor>& parameters, const Group& group) noexcept = 0;
  virtual Status before_block(int block) noexcept = 0;
  virtual Status after_block(int block) noexcept = 0;
  virtual Status gradient_ready(std::size_t parameter) noexcept = 0;
  virtual Status backward_finished() noexcept = 0;
  virtual Status owned_parameters(std::vector<std::size_t>& owned) noexcept = 0;
  virtual Status after_step() noexcept = 0;
  virtual Status traits(CommunicationTraits& traits) noexcept = 0;
};

namespace detail {

class CommunicationGuard final : public Guard<Communication, CommunicationBoundary> {
 public:
  using Guard::Guard;

  Status attach(const std::vector<at::Tensor>& parameters, const Group& group) noexcept override {
    return guarded([&] { plugin_->attach(parameters, group); });
  }
  Status before_block(int block) noexcept override {
    return guarded([&] { plugin_->before_block(block); });
  }
  Status after_block(int block) noexcept override {
    return guarded([&] { plugin_->after_block(block); });
  }
  Status gradient_ready(std::size_t parameter) noexcept override {
    return guarded([&] { plugin_->gradient_ready(parameter); });
  }
  Status backward_finished() noexcept override {
    return guarded([&] { plugin_->backward_finished(); });
  }
  Status owned_parameters(std::vector<std::size_t>& owned) noexcept override {
    return guarded([&] { owned = plugin_->owned_parameters(); });
  }
  Status after_step() noexcept override {
    return guarded([&] { plugin_->after_step(); });
  }
  Status traits(CommunicationTraits& traits) noexcept override {
    return guarded([&] {
      traits = {plugin_->wants_gradient_ready(), plugin_->synchronizes(), plugin_->capturable()};
    });
  }
};

}  // namespace detail

inline void CommunicationHandle::attach(const std::vector<at::Tensor>& parameters,
                                        const Group& group) const {
  throw_unless_ok(boundary_->attach(parameters, group));
}
inline void CommunicationHandle::before_block(int block) const {
  throw_unless_ok(boundary_->before_block(block));
}
inline void CommunicationHandle::after_block(int block) const {
  throw_unless_ok(boundary_->after_block(block));
}
inline void CommunicationHandle::gradient_ready(std::size_t parameter) const {
  throw_unless_ok(boundary_->gradient_ready(parameter));
}
inline void CommunicationHandle::backward_finished() const {
  throw_unless_ok(boundary_->backward_finished());
}
inline std::vector<std::size_t> CommunicationHandle::owned_parameters() const {
  std::vector<std::size_t> owned;
  throw_unless_ok(boundary_->owned_parameters(owned));
  return owned;
}
inline void CommunicationHandle::after_step() const { throw_unless_ok(boundary_->after_step()); }
inline CommunicationTraits CommunicationHandle::traits() const {
  CommunicationTraits traits;
  throw_unless_ok(boundary_->traits(traits));
  return traits;
}

inline std::unique_ptr<Boundary> guard_of(std::unique_ptr<Communication> plugin) {
  return std::make_unique<detail::CommunicationGuard>(std::move(plugin));
}

}  // namespace assay
