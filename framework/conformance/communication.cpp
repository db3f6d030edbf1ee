#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <assay/communication.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "conformance/operation.h"
#include "measure/gloo.h"
#include "model/random.h"

namespace assay::conformance {

namespace {

constexpr double exchange_tolerance = 1e-5;
constexpr int blocks = 2;
constexpr double learning_rate = 0.1;
// How long other ranks wait for one that has failed.
constexpr std::chrono::seconds rank_patience(20);

using Sizes = std::vector<std::vector<std::int64_t>>;

struct Setup {
  int ranks = 1;
  Sizes parameters;
  std::vector<std::size_t> missing = {};  // parameters without a gradient
  bool missing_everywhere = false;        // or on rank 0 alone
};

std::string text(const Setup& setup) {
  std::vector<std::string> shapes;
  for (const auto& sizes : setup.parameters) {
    shapes.push_back(fmt::format("[{}]", fmt::join(sizes, ", ")));
  }
  std::string words =
      setup.ranks == 1 ? "1 rank, " : fmt::format("{} ranks on the CPU over Gloo, ", setup.ranks);
  words += shapes.size() <= 4 ? fmt::format("parameters {}", fmt::join(shapes, " "))
                              : fmt::format("{} parameters, {} … {}", shapes.size(), shapes.front(),
                                            shapes.back());
  if (!setup.missing.empty()) {
    words += fmt::format(", no gradient for number {} on {}", fmt::join(setup.missing, ", "),
                         setup.missing_everywhere ? "any rank" : "rank 0");
  }
  return words;
}

// One rank of a training loop without a model: gradients are drawn from a seed.
class Rank {
 public:
  Rank(const Setup& setup, CommunicationBoundary& plugin, const Group& group, at::Device device)
      : setup_(setup), plugin_(plugin), group_(group), device_(device) {
    for (std::size_t i = 0; i < setup.parameters.size(); ++i) {
      parameters_.push_back(drawn(1000, i).to(at::kFloat).to(device_).requires_grad_());
      expected_.push_back(drawn(1000, i));
    }
    throw_unless_ok(plugin_.attach(parameters_, group_));
    throw_unless_ok(plugin_.traits(traits_));
    throw_unless_ok(plugin_.owned_parameters(owned_));
    if (owned_.empty()) {
      for (std::size_t i = 0; i < parameters_.size(); ++i) owned_.push_back(i);
    }
  }

  CommunicationBoundary& plugin() { return plugin_; }
  const CommunicationTraits& traits() const { return traits_; }
  const std::vector<std::size_t>& owned() const { return owned_; }

  // Forward, then a backward that finishes the last parameter's gradient first.
  void backward(int step) {
    const at::NoGradGuard no_grad;
    for (int block = 0; block < blocks; ++block) {
      throw_unless_ok(plugin_.before_block(block));
      throw_unless_ok(plugin_.after_block(block));
    }
    for (auto& parameter : parameters_) parameter.mutable_grad() = at::Tensor();
    for (std::size_t i = parameters_.size(); i-- > 0;) {
      if (!has_gradient(i, group_.rank)) continue;
      parameters_[i].mutable_grad() = gradient(step, group_.rank, i).to(at::kFloat).to(device_);
      if (traits_.wants_gradient_ready) throw_unless_ok(plugin_.gradient_ready(i));
    }
    throw_unless_ok(plugin_.backward_finished());
  }

  void compare_gradients(int step, CheckVerdict& verdict) const {
    for (const std::size_t i : owned_) {
      const auto& found = parameters_[i].grad();
      // The gradient may stay undefined where no rank has one.
      if (!found.defined() && setup_.missing_everywhere && is_missing(i)) continue;
      compare(verdict, {name("gradient", i), mean_gradient(step, i), 1e-3}, on_cpu(found),
              exchange_tolerance);
    }
  }

  // Gradient descent on the owned parameters, then their exchange.
  void update(int step) {
    {
      const at::NoGradGuard no_grad;
      for (const std::size_t i : owned_) {
        const auto& found = parameters_[i].grad();
        if (found.defined()) parameters_[i].sub_(found, learning_rate);
      }
    }
    throw_unless_ok(plugin_.after_step());
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      expected_[i] = expected_[i] - learning_rate * mean_gradient(step, i);
    }
  }

  // Parameters are whole between before_block and after_block, even if sharded.
  void compare_parameters(CheckVerdict& verdict) const {
    throw_unless_ok(plugin_.before_block(0));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      compare(verdict, {name("parameter", i), expected_[i], 0}, on_cpu(parameters_[i]),
              exchange_tolerance);
    }
    throw_unless_ok(plugin_.after_block(0));
  }

  bool gradients_untouched(int step) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto own = gradient(step, group_.rank, i).to(at::kFloat);
      if (!parameters_[i].grad().defined() || !on_cpu(parameters_[i].grad()).equal(own)) {
        return false;
      }
    }
    return true;
  }

 private:
  at::Tensor drawn(std::uint64_t stream, std::size_t parameter) const {
    return at::randn(setup_.parameters[parameter],
                     model::seeded_generator(at::kCPU, 100 * stream + parameter),
                     at::TensorOptions(at::kDouble));
  }
  at::Tensor gradient(int step, int rank, std::size_t parameter) const {
    return drawn(static_cast<std::uint64_t>(10 * step + rank), parameter);
  }
  at::Tensor mean_gradient(int step, std::size_t parameter) const {
    auto sum = at::zeros_like(expected_[parameter]);
    for (int rank = 0; rank < group_.size; ++rank) {
      if (has_gradient(parameter, rank)) sum += gradient(step, rank, parameter);
    }
    return sum / group_.size;
  }
  bool is_missing(std::size_t parameter) const {
    return std::find(setup_.missing.begin(), setup_.missing.end(), parameter) !=
           setup_.missing.end();
  }
  bool has_gradient(std::size_t parameter, int rank) const {
    return !is_missing(parameter) || !(setup_.missing_everywhere || rank == 0);
  }
  static at::Tensor on_cpu(const at::Tensor& x) {
    return x.defined() ? x.detach().to(at::kCPU) : x;
  }
  std::string name(const char* what, std::size_t i) const {
    return fmt::format("rank {}'s {} {}", group_.rank, what, i);
  }

  const Setup& setup_;
  CommunicationBoundary& plugin_;
  Group group_;
  at::Device device_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> expected_;  // float64, on the CPU
  CommunicationTraits traits_;
  std::vector<std::size_t> owned_;
};

using Body = std::function<void(Rank&, int rank, CheckVerdict&)>;

class Outcomes {
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

  CheckVerdict take() {
    throw_unless_ok(failure_);
    return worst_;
  }

 private:
  std::mutex mutex_;
  CheckVerdict worst_;
  Status failure_;
};

// Runs every rank on a thread with a plugin of its own. Several ranks meet over Gloo on the CPU.
CheckVerdict on_ranks(const Subject& subject, const Setup& setup, const Body& body) {
  // c10d's flight recorder, one a process, is unsafe when several groups enqueue at once. It reads
  // this when the first group is made.
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto device = setup.ranks == 1 ? subject.device() : at::Device(at::kCPU);
  std::vector<c10::intrusive_ptr<c10d::Backend>> backends(static_cast<std::size_t>(setup.ranks));
  Outcomes outcomes;
  const auto run_rank = [&](int index) {
    CheckVerdict verdict;
    const Status status = guarded([&] {
      Group group{index, setup.ranks, nullptr};
      if (setup.ranks > 1) {
        group.backend = measure::make_gloo(store, index, setup.ranks, rank_patience);
        backends[static_cast<std::size_t>(index)] = group.backend;
      }
      const auto plugin = subject.make<CommunicationBoundary>();
      Rank rank(setup, *plugin, group, device);
      body(rank, index, verdict);
    });
    outcomes.add(verdict, status);
  };
  {
    std::vector<std::jthread> threads;
    for (int index = 0; index < setup.ranks; ++index) threads.emplace_back(run_rank, index);
  }
  for (const auto& backend : backends) {
    if (backend) static_cast<void>(guarded([&] { backend->shutdown(); }));
  }
  return outcomes.take();
}

void must_synchronize(const Rank& rank, const Setup& setup) {
  if (setup.ranks > 1 && !rank.traits().synchronizes) {
    throw Unsupported("it says that ranks train apart");
  }
}

CheckVerdict averages(const Subject& subject, const Setup& setup) {
  return on_ranks(subject, setup, [&](Rank& rank, int, CheckVerdict& verdict) {
    must_synchronize(rank, setup);
    rank.backward(0);
    rank.compare_gradients(0, verdict);
  });
}

CheckVerdict trains(const Subject& subject, const Setup& setup) {
  return on_ranks(subject, setup, [&](Rank& rank, int, CheckVerdict& verdict) {
    must_synchronize(rank, setup);
    for (int step = 0; step < 4; ++step) {
      rank.backward(step);
      rank.compare_gradients(step, verdict);
      rank.update(step);
      rank.compare_parameters(verdict);
    }
  });
}

CheckVerdict trains_apart(const Subject& subject, const Setup& setup) {
  return on_ranks(subject, setup, [&](Rank& rank, int index, CheckVerdict& verdict) {
    if (setup.ranks > 1 && rank.traits().synchronizes) {
      throw Unsupported("it says that ranks train together");
    }
    rank.backward(0);
    if (!rank.gradients_untouched(0)) {
      verdict.complaint = fmt::format("rank {}'s own gradients were changed", index);
    }
  });
}

CheckVerdict partitions(const Subject& subject, const Setup& setup) {
  std::mutex mutex;
  std::vector<int> owners(setup.parameters.size(), 0);
  std::string complaint;
  CheckVerdict verdict = on_ranks(subject, setup, [&](Rank& rank, int index, CheckVerdict&) {
    const std::lock_guard lock(mutex);
    for (const std::size_t owned : rank.owned()) {
      if (owned < owners.size()) {
        ++owners[owned];
      } else {
        complaint =
            fmt::format("rank {} says it owns parameter {} of {}", index, owned, owners.size());
      }
    }
  });
  const int first = owners.front();
  for (std::size_t i = 0; i < owners.size() && complaint.empty(); ++i) {
    const bool all = owners[i] == setup.ranks && first == setup.ranks;
    if (owners[i] != 1 && !all) {
      complaint = fmt::format("{} of {} ranks own parameter {}: one must, or all of them own all",
                              owners[i], setup.ranks, i);
    }
  }
  verdict.complaint = complaint;
  return verdict;
}

CheckVerdict keeps_traits(const Subject& subject, const Setup& setup) {
  return on_ranks(subject, setup, [&](Rank& rank, int, CheckVerdict& verdict) {
    const CommunicationTraits before = rank.traits();
    rank.backward(0);
    CommunicationTraits after;
    throw_unless_ok(rank.plugin().traits(after));
    const bool same = before.wants_gradient_ready == after.wants_gradient_ready &&
                      before.synchronizes == after.synchronizes &&
                      before.capturable == after.capturable;
    if (!same) verdict.complaint = "its traits changed during a step";
  });
}

std::vector<Sizes> parameter_sets() {
  Sizes many;
  for (std::int64_t i = 0; i < 40; ++i) many.push_back({1 + i % 7});
  Sizes uneven = {{100003}, {1}, {17, 31}, {3}};
  return {{{1}}, {{3}}, {{5}, {2, 3}, {1}}, many, {{1031}, {64, 65}}, uneven};
}

Check over(std::string name, std::string sentence, const std::vector<Setup>& setups,
           const std::function<CheckVerdict(const Setup&)>& judge) {
  Check check{std::move(name), std::move(sentence), {}};
  for (const Setup& setup : setups) {
    check.cases.push_back({text(setup), [judge, setup] { return judge(setup); }});
  }
  return check;
}

std::vector<Setup> on_rank_counts(const std::vector<Sizes>& sets, std::vector<int> counts) {
  std::vector<Setup> setups;
  for (const Sizes& sizes : sets) {
    for (const int ranks : counts) setups.push_back({.ranks = ranks, .parameters = sizes});
  }
  return setups;
}

std::vector<Setup> missing_gradients() {
  std::vector<Setup> setups;
  for (const bool everywhere : {false, true}) {
    for (const int ranks : {2, 3}) {
      for (const std::vector<std::size_t>& missing :
           std::vector<std::vector<std::size_t>>{{0}, {2}, {0, 1}}) {
        setups.push_back({ranks, {{5}, {2, 3}, {1}}, missing, everywhere});
      }
    }
  }
  return setups;
}

}  // namespace

std::vector<Check> communication_checks(const Subject& subject) {
  const auto with = [&](CheckVerdict (*judge)(const Subject&, const Setup&)) {
    return [subject, judge](const Setup& setup) { return judge(subject, setup); };
  };
  const std::vector<Sizes> all = parameter_sets();
  const std::vector<Sizes> few = {{{3}}, {{5}, {2, 3}, {1}}};
  return {
      over("single_rank", "One rank keeps its own gradients and needs no others.",
           on_rank_counts(all, {1}), with(trains_apart)),
      over("mean", "After a backward every rank has the mean of all ranks' gradients.",
           on_rank_counts(all, {2, 3}), with(averages)),
      over("missing_gradients", "A gradient that a rank lacks counts as 0.", missing_gradients(),
           with(averages)),
      over("steps",
           "After several steps every rank has the parameters that training on the mean "
           "gives.",
           on_rank_counts(all, {1, 2, 3}), with(trains)),
      over("ownership", "Each parameter is updated by one rank, or each by all.",
           on_rank_counts(all, {1, 2, 3}), with(partitions)),
      over("apart", "Where ranks train apart, nothing changes their gradients.",
           on_rank_counts(few, {2, 3}), with(trains_apart)),
      over("traits", "Its traits never change.", on_rank_counts(few, {1, 2}), with(keeps_traits)),
  };
}

}  // namespace assay::conformance
