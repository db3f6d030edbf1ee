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

// How gradients travel between ranks; sharded variants also move parameters and optimizer state.
// The training thread makes all calls, in the order of a step: before_block and after_block around
// each block, gradient_ready as autograd finishes each parameter, backward_finished, the optimizer
// on owned_parameters(), after_step.
class Communication {
 public:
  static constexpr const char* kind = "communication";

  virtual ~Communication() = default;

  // Called once, before the first step. `parameters` are in the model's order; the model owns them.
  virtual void attach(const std::vector<at::Tensor>& parameters, const Group& group) = 0;
  virtual void before_block(int /*block*/) {}
  virtual void after_block(int /*block*/) {}
  // Called only where wants_gradient_ready() is true.
  virtual void gradient_ready(std::size_t /*parameter*/) {}
  virtual bool wants_gradient_ready() const { return false; }
  // On return each gradient of a parameter that this rank owns must be the mean over ranks. A
  // gradient that a rank lacks counts as 0.
  virtual void backward_finished() {}
  // Indices of the parameters that this rank's optimizer updates; empty: all.
  virtual std::vector<std::size_t> owned_parameters() const { return {}; }
  virtual void after_step() {}
  // Whether gradients travel at all; if false, each rank trains a model of its own.
  virtual bool synchronizes() const { return true; }
  // Whether a CUDA graph may capture its calls.
  virtual bool capturable() const { return false; }
};

struct CommunicationTraits {
  bool wants_gradient_ready = false;
  bool synchronizes = true;
  bool capturable = false;
};

class CommunicationBoundary;

// The case's communication variant as a workload calls it. Throws PluginFailure where the variant
// throws. False where the case has none.
class CommunicationHandle {
 public:
  CommunicationHandle(CommunicationBoundary* boundary) : boundary_(boundary) {}
  explicit operator bool() const { return boundary_ != nullptr; }

  void attach(const std::vector<at::Tensor>& parameters, const Group& group) const;
  void before_block(int block) const;
  void after_block(int block) const;
  void gradient_ready(std::size_t parameter) const;
  void backward_finished() const;
  std::vector<std::size_t> owned_parameters() const;
  void after_step() const;
  CommunicationTraits traits() const;

 private:
  CommunicationBoundary* boundary_;
};

}  // namespace assay

#include <assay/detail/communication.h>
