#pragma once

#include <assay/communication.h>

namespace assay {

class CommunicationBoundary : public Boundary {
 public:
  virtual Status attach(const TrainedModel& model, const Mesh& mesh,
                        TraceHandle trace) noexcept = 0;
  virtual Status before_forward(int block) noexcept = 0;
  virtual Status after_forward(int block) noexcept = 0;
  virtual Status before_backward(int block) noexcept = 0;
  virtual Status after_backward(int block) noexcept = 0;
  virtual Status backward_begins(const at::Tensor& loss) noexcept = 0;
  virtual Status gradient_ready(std::size_t parameter) noexcept = 0;
  virtual Status backward_finished() noexcept = 0;
  virtual Status slices(std::optional<std::vector<Slice>>& slices) noexcept = 0;
  virtual Status sum_over_owners(at::Tensor& value) noexcept = 0;
  virtual Status after_step() noexcept = 0;
  virtual Status clear_gradients() noexcept = 0;
  virtual Status record(RecorderBoundary& recorder) noexcept = 0;
  virtual Status sharing(std::optional<Sharing>& sharing) noexcept = 0;
  virtual Status traits(CommunicationTraits& traits) noexcept = 0;
};

namespace detail {

class CommunicationGuard final : public Guard<Communication, CommunicationBoundary> {
 public:
  using Guard::Guard;

  Status attach(const TrainedModel& model, const Mesh& mesh, TraceHandle trace) noexcept override {
    return guarded([&] { plugin_->attach(model, mesh, trace); });
  }
  Status before_forward(int block) noexcept override {
    return guarded([&] { plugin_->before_forward(block); });
  }
  Status after_forward(int block) noexcept override {
    return guarded([&] { plugin_->after_forward(block); });
  }
  Status before_backward(int block) noexcept override {
    return guarded([&] { plugin_->before_backward(block); });
  }
  Status after_backward(int block) noexcept override {
    return guarded([&] { plugin_->after_backward(block); });
  }
  Status backward_begins(const at::Tensor& loss) noexcept override {
    return guarded([&] { plugin_->backward_begins(loss); });
  }
  Status gradient_ready(std::size_t parameter) noexcept override {
    return guarded([&] { plugin_->gradient_ready(parameter); });
  }
  Status backward_finished() noexcept override {
    return guarded([&] { plugin_->backward_finished(); });
  }
  Status slices(std::optional<std::vector<Slice>>& slices) noexcept override {
    return guarded([&] { slices = plugin_->slices(); });
  }
  Status sum_over_owners(at::Tensor& value) noexcept override {
    return guarded([&] { plugin_->sum_over_owners(value); });
  }
  Status after_step() noexcept override {
    return guarded([&] { plugin_->after_step(); });
  }
  Status clear_gradients() noexcept override {
    return guarded([&] { plugin_->clear_gradients(); });
  }
  Status record(RecorderBoundary& recorder) noexcept override {
    return guarded([&] {
      Recorder records(recorder);
      plugin_->record(records);
    });
  }
  Status sharing(std::optional<Sharing>& sharing) noexcept override {
    return guarded([&] { sharing = plugin_->sharing(); });
  }
  Status traits(CommunicationTraits& traits) noexcept override {
    return guarded([&] {
      traits = {plugin_->wants_blocks(), plugin_->wants_gradient_ready(),
                plugin_->keeps_gradients(), plugin_->synchronizes(), plugin_->capturable()};
    });
  }
};

}  // namespace detail

inline void CommunicationHandle::attach(const TrainedModel& model, const Mesh& mesh,
                                        TraceHandle trace) const {
  throw_unless_ok(boundary_->attach(model, mesh, trace));
}
inline void CommunicationHandle::before_forward(int block) const {
  throw_unless_ok(boundary_->before_forward(block));
}
inline void CommunicationHandle::after_forward(int block) const {
  throw_unless_ok(boundary_->after_forward(block));
}
inline void CommunicationHandle::before_backward(int block) const {
  throw_unless_ok(boundary_->before_backward(block));
}
inline void CommunicationHandle::after_backward(int block) const {
  throw_unless_ok(boundary_->after_backward(block));
}
inline void CommunicationHandle::backward_begins(const at::Tensor& loss) const {
  throw_unless_ok(boundary_->backward_begins(loss));
}
inline void CommunicationHandle::gradient_ready(std::size_t parameter) const {
  throw_unless_ok(boundary_->gradient_ready(parameter));
}
inline void CommunicationHandle::backward_finished() const {
  throw_unless_ok(boundary_->backward_finished());
}
inline std::optional<std::vector<Slice>> CommunicationHandle::slices() const {
  std::optional<std::vector<Slice>> slices;
  throw_unless_ok(boundary_->slices(slices));
  return slices;
}
inline void CommunicationHandle::sum_over_owners(at::Tensor& value) const {
  throw_unless_ok(boundary_->sum_over_owners(value));
}
inline void CommunicationHandle::after_step() const { throw_unless_ok(boundary_->after_step()); }
inline void CommunicationHandle::clear_gradients() const {
  throw_unless_ok(boundary_->clear_gradients());
}
inline void CommunicationHandle::record(Recorder& recorder) const {
  throw_unless_ok(boundary_->record(recorder.boundary()));
}
inline std::optional<Sharing> CommunicationHandle::sharing() const {
  std::optional<Sharing> sharing;
  throw_unless_ok(boundary_->sharing(sharing));
  return sharing;
}
inline CommunicationTraits CommunicationHandle::traits() const {
  CommunicationTraits traits;
  throw_unless_ok(boundary_->traits(traits));
  return traits;
}

inline std::unique_ptr<Boundary> guard_of(std::unique_ptr<Communication> plugin) {
  return std::make_unique<detail::CommunicationGuard>(std::move(plugin));
}

}  // namespace assay
