#include "conformance/training_ranks.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "conformance/operation.h"
#include "measure/gloo.h"

namespace assay::conformance {

namespace {

constexpr double exchange_tolerance = 1e-5;
constexpr double rank_learning_rate = 0.1;
constexpr double momentum = 0.5;
// How long other ranks wait for one that has failed.
constexpr std::chrono::seconds rank_patience(20);

at::Tensor on_cpu(const at::Tensor& x) { return x.defined() ? x.detach().to(at::kCPU) : x; }

std::vector<at::Tensor> first_parameters(const BlockSetup& setup, at::Device device, double shift) {
  std::vector<at::Tensor> parameters;
  for (std::size_t i = 0; i < setup.parameters.size(); ++i) {
    const at::Tensor values = BlockModel::initial(setup, i) + shift;
    parameters.push_back(values.to(at::kFloat).to(device).requires_grad_(!setup.is_frozen(i)));
  }
  return parameters;
}

class RankOutcomes {
 public:
  void add(const CheckVerdict& verdict, const Status& status) {
    const std::lock_guard lock(mutex_);
    // Keep the first failure: a failing rank makes the others fail after it.
    if (!status.ok() && failure_.ok()) failure_ = status;
    const bool worse = verdict.error * worst_.tolerance > worst_.error * verdict.tolerance;
    if (worst_.tolerance <= 0 || worse) {
      worst_.error = verdict.error;
      worst_.tolerance = verdict.tolerance;
    }
    if (worst_.complaint.empty()) worst_.complaint = verdict.complaint;
  }

  bool failed() const { return !failure_.ok(); }

  CheckVerdict take() {
    throw_unless_ok(failure_);
    return worst_;
  }

 private:
  std::mutex mutex_;
  CheckVerdict worst_;
  Status failure_;
};

}  // namespace

TrainingRank::TrainingRank(const BlockSetup& setup, CommunicationHandle communication,
                           const Group& group, at::Device device, double shift)
    : setup_(setup),
      communication_(communication),
      group_(group),
      traits_(communication.traits()),
      parameters_(first_parameters(setup, device, shift)),
      model_(setup, parameters_),
      shards_((communication.attach(model_.trained(), Mesh(group)), model_.trained()),
              communication, group),
      hooks_(model::BlockHooks::of(communication, model_.trained())),
      state_(parameters_, {}, communication) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    expected_.push_back(BlockModel::initial(setup, i));
    momenta_.push_back(at::zeros_like(expected_.back()));
  }
  if (traits_.wants_gradient_ready) {
    state_.on_gradient_ready([this](std::size_t i) { communication_.gradient_ready(i); });
  }
}

double TrainingRank::tolerance() const {
  return setup_.compute == at::kFloat ? exchange_tolerance : 2 * dtype_tolerance(setup_.compute);
}

std::string TrainingRank::name(const char* what, std::size_t parameter) const {
  return fmt::format("rank {}'s {} {}", group_.rank, what, parameter);
}

// Ranks that train apart have parameters of their own.
BlockModel::Seen TrainingRank::comparing(CheckVerdict& verdict) const {
  if (group_.size > 1 && !traits_.synchronizes) return {};
  return [this, &verdict](std::size_t block, std::size_t i) {
    const std::string where = fmt::format("{} as block {} uses it", name("parameter", i), block);
    compare(verdict, {where, expected_[i], 0}, on_cpu(parameters_[i]), tolerance());
  };
}

void TrainingRank::backward(int step, CheckVerdict& verdict) {
  state_.clear_gradients();
  const at::Tensor loss = model_.forward(step, group_.rank, hooks_, comparing(verdict));
  communication_.backward_begins(loss);
  hooks_.backward_begins();
  state_.backward(loss);
  hooks_.backward_ended();
  communication_.backward_finished();
}

void TrainingRank::forward_alone(int step, CheckVerdict& verdict) {
  const at::NoGradGuard no_grad;
  model_.forward(step, group_.rank, hooks_, comparing(verdict));
}

void TrainingRank::update(int step) {
  Ops ops;
  ops.optimizer = [](const OptimizerInputs& in) {
    for (std::size_t i = 0; i < in.parameters.size(); ++i) {
      at::Tensor velocity = in.first_moments[i];
      velocity.mul_(momentum).add_(in.gradients[i]);
      at::Tensor(in.parameters[i]).detach().sub_(velocity, rank_learning_rate);
      if (!in.low_precision.empty() && in.low_precision[i].defined()) {
        in.low_precision[i].copy_(in.parameters[i]);
      }
    }
  };
  state_.step(ops);
  communication_.after_step();
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    if (setup_.is_frozen(i)) continue;
    momenta_[i] = momentum * momenta_[i] + BlockModel::mean_gradient(setup_, step, i, expected_[i]);
    expected_[i] = expected_[i] - rank_learning_rate * momenta_[i];
  }
}

void TrainingRank::compare_gradients(CheckVerdict& verdict,
                                     const std::function<at::Tensor(std::size_t)>& expected) const {
  const std::vector<at::Tensor> found = shards_.gather_gradients();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (setup_.is_frozen(i)) continue;
    // The gradient may stay undefined where no rank has one.
    if (!found[i].defined() && setup_.missing_everywhere && setup_.is_missing(i)) continue;
    // Terms cancel out, and rounding is that of the terms.
    const double floor = setup_.compute == at::kFloat ? 1e-3 : 0.3;
    compare(verdict, {name("gradient", i), expected(i), floor}, on_cpu(found[i]), tolerance());
  }
}

void TrainingRank::compare_gradients(int step, CheckVerdict& verdict) const {
  compare_gradients(verdict, [&](std::size_t i) {
    return BlockModel::mean_gradient(setup_, step, i, expected_[i]);
  });
}

void TrainingRank::compare_own_gradients(int step, CheckVerdict& verdict) const {
  compare_gradients(verdict, [&](std::size_t i) {
    return BlockModel::gradient(setup_, step, group_.rank, i, expected_[i]);
  });
}

void TrainingRank::compare_parameters(CheckVerdict& verdict) const {
  const std::vector<at::Tensor> found = shards_.gather_parameters();
  for (std::size_t i = 0; i < found.size(); ++i) {
    compare(verdict, {name("parameter", i), expected_[i], 0}, on_cpu(found[i]), tolerance());
  }
}

void TrainingRank::compare_gradient_norm(int step, CheckVerdict& verdict) const {
  at::Tensor squares = at::zeros({1}, at::TensorOptions(at::kDouble));
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    if (setup_.is_frozen(i)) continue;
    squares += BlockModel::mean_gradient(setup_, step, i, expected_[i]).square().sum();
  }
  compare(verdict, {fmt::format("rank {}'s gradient norm", group_.rank), squares.sqrt(), 0},
          on_cpu(state_.gradient_norm()).view({1}), tolerance());
}

std::vector<const void*> TrainingRank::gradient_addresses() const {
  std::vector<const void*> addresses;
  const auto add = [&](const at::Tensor& tensor) {
    if (tensor.grad().defined()) addresses.push_back(tensor.grad().const_data_ptr());
  };
  for (const Slice& slice : state_.slices()) add(slice.values);
  return addresses;
}

RankThreads::~RankThreads() {
  while (!backends_.empty()) part(backends_.begin()->first);
}

void RankThreads::part(int ranks) {
  for (const auto& backend : backends_[ranks]) {
    if (backend) static_cast<void>(guarded([&] { backend->shutdown(); }));
  }
  backends_.erase(ranks);
}

RankThreads::Backends& RankThreads::meet(int ranks) {
  Backends& backends = backends_[ranks];
  if (!backends.empty()) return backends;
  // c10d's flight recorder, one a process, is unsafe when several groups enqueue at once. It reads
  // this when the first group is made.
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  backends.resize(static_cast<std::size_t>(ranks));
  if (ranks == 1) return backends;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<Status> met(backends.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < backends.size(); ++i) {
      threads.emplace_back([&, i] {
        met[i] = guarded([&] {
          backends[i] = measure::make_gloo(store, static_cast<int>(i), ranks, rank_patience);
        });
      });
    }
  }
  for (const Status& status : met) throw_unless_ok(status);
  return backends;
}

CheckVerdict RankThreads::run(const BlockSetup& setup, const RankBody& body,
                              double shift_of_other_ranks) {
  const auto device = setup.ranks == 1 ? subject_.device() : at::Device(at::kCPU);
  const Backends& backends = meet(setup.ranks);
  RankOutcomes outcomes;
  const auto run_rank = [&](int index) {
    CheckVerdict verdict;
    const Status status = guarded([&] {
      const auto plugin = subject_.make<CommunicationBoundary>();
      const Group group{index, setup.ranks, backends[static_cast<std::size_t>(index)]};
      TrainingRank rank(setup, plugin.get(), group, device, index == 0 ? 0 : shift_of_other_ranks);
      body(rank, index, verdict);
    });
    outcomes.add(verdict, status);
  };
  {
    std::vector<std::jthread> threads;
    for (int index = 0; index < setup.ranks; ++index) threads.emplace_back(run_rank, index);
  }
  if (outcomes.failed()) part(setup.ranks);
  return outcomes.take();
}

}  // namespace assay::conformance
