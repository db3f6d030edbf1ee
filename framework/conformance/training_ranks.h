#pragma once

#include <assay/communication.h>

#include <functional>
#include <map>
#include <vector>

#include "conformance/block_model.h"
#include "conformance/check.h"
#include "training/shards.h"
#include "training/training_state.h"

namespace assay::conformance {

// One rank that trains a BlockModel under a communication variant, and what training on the whole
// batch in one process gives: gradient descent with momentum, in float64.
class TrainingRank {
 public:
  // shift: added to this rank's first parameters; expected are those without it.
  TrainingRank(const BlockSetup& setup, CommunicationHandle communication, const Group& group,
               at::Device device, double shift = 0);

  const CommunicationTraits& traits() const { return traits_; }
  CommunicationHandle communication() const { return communication_; }

  // A forward and a backward. Compares each parameter as a block uses it.
  void backward(int step, CheckVerdict& verdict);
  void forward_alone(int step, CheckVerdict& verdict);
  // The optimizer on this rank's slices, their exchange, and the same step of the single process.
  void update(int step);

  // All ranks call these together.
  void compare_gradients(int step, CheckVerdict& verdict) const;
  void compare_own_gradients(int step, CheckVerdict& verdict) const;
  void compare_parameters(CheckVerdict& verdict) const;
  void compare_gradient_norm(int step, CheckVerdict& verdict) const;

  // Addresses of all gradients that exist.
  std::vector<const void*> gradient_addresses() const;

 private:
  std::string name(const char* what, std::size_t parameter) const;
  BlockModel::Seen comparing(CheckVerdict& verdict) const;
  void compare_gradients(CheckVerdict& verdict,
                         const std::function<at::Tensor(std::size_t)>& expected) const;
  double tolerance() const;

  const BlockSetup& setup_;
  CommunicationHandle communication_;
  Group group_;
  CommunicationTraits traits_;
  std::vector<at::Tensor> parameters_;
  BlockModel model_;
  training::Shards shards_;
  model::BlockHooks hooks_;
  training::TrainingState state_;
  std::vector<at::Tensor> expected_;  // float64, on the CPU
  std::vector<at::Tensor> momenta_;
};

using RankBody = std::function<void(TrainingRank&, int rank, CheckVerdict&)>;

// Runs ranks on threads, each with a plugin of its own. Several meet over Gloo on the CPU; groups
// are kept for the next cases until one fails.
class RankThreads {
 public:
  explicit RankThreads(Subject subject) : subject_(std::move(subject)) {}
  ~RankThreads();
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

  // Throws PluginFailure where a rank fails.
  CheckVerdict run(const BlockSetup& setup, const RankBody& body, double shift_of_other_ranks = 0);

 private:
  using Backends = std::vector<c10::intrusive_ptr<c10d::Backend>>;

  Backends& meet(int ranks);
  void part(int ranks);

  Subject subject_;
  std::map<int, Backends> backends_;  // by the number of ranks
};

}  // namespace assay::conformance
