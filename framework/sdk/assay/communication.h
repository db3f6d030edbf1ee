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

class CommunicationBoundary;

// The communication variant of a case, as a workload calls it: the calls are Communication's, and
// throw where the variant did. Tests as false where the case has none.
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
