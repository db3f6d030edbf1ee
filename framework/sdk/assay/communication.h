#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <assay/plugin.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace assay {

// The ranks of one case.
struct Group {
  int rank = 0;
  int size = 1;
  c10::intrusive_ptr<c10d::Backend> backend;  // null when size is 1
};

// How gradients (and, for sharded variants, parameters and optimizer state) travel between ranks.
// Called from the training thread, in the order of a step: before_block/after_block around each
// block, gradient_ready as autograd finishes each parameter, backward_finished, the optimizer on
// owned_parameters(), after_step.
class Communication {
 public:
  static constexpr const char* kind = "communication";
  template <class T>
  class Guard;

  virtual ~Communication() = default;

  // Once, before the first step. Parameters in the model's order; the tensors stay the model's.
  virtual void attach(const std::vector<at::Tensor>& parameters, const Group& group) = 0;
  virtual void before_block(int /*block*/) {}
  virtual void after_block(int /*block*/) {}
  // Only called when wants_gradient_ready() is true.
  virtual void gradient_ready(std::size_t /*parameter*/) {}
  virtual bool wants_gradient_ready() const { return false; }
  // Afterwards every rank's gradients must be the mean over ranks: those of the parameters it owns,
  // where a gradient that a rank does not have counts as 0.
  virtual void backward_finished() {}
  // Indices of the parameters this rank's optimizer updates; empty: all of them.
  virtual std::vector<std::size_t> owned_parameters() const { return {}; }
  virtual void after_step() {}
  // Whether gradients travel at all; where they do not, each rank trains apart.
  virtual bool synchronizes() const { return true; }
  // Whether its calls may be captured in a CUDA graph.
  virtual bool capturable() const { return false; }
};

struct CommunicationTraits {
  bool wants_gradient_ready = false;
  bool synchronizes = true;
  bool capturable = false;
};

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

template <class T>
class Communication::Guard final : public CommunicationBoundary {
 public:
  template <class... Arguments>
  explicit Guard(const Arguments&... arguments) : plugin_(arguments...) {}

  Status attach(const std::vector<at::Tensor>& parameters, const Group& group) noexcept override {
    return guarded([&] { plugin_.attach(parameters, group); });
  }
  Status before_block(int block) noexcept override {
    return guarded([&] { plugin_.before_block(block); });
  }
  Status after_block(int block) noexcept override {
    return guarded([&] { plugin_.after_block(block); });
  }
  Status gradient_ready(std::size_t parameter) noexcept override {
    return guarded([&] { plugin_.gradient_ready(parameter); });
  }
  Status backward_finished() noexcept override {
    return guarded([&] { plugin_.backward_finished(); });
  }
  Status owned_parameters(std::vector<std::size_t>& owned) noexcept override {
    return guarded([&] { owned = plugin_.owned_parameters(); });
  }
  Status after_step() noexcept override {
    return guarded([&] { plugin_.after_step(); });
  }
  Status traits(CommunicationTraits& traits) noexcept override {
    return guarded([&] {
      traits = {plugin_.wants_gradient_ready(), plugin_.synchronizes(), plugin_.capturable()};
    });
  }

 private:
  T plugin_;
};

}  // namespace assay
