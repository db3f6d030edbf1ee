#include "conformance/block_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "model/random.h"

namespace assay::conformance {

namespace {

constexpr double slope = 0.1;
constexpr std::size_t most_blocks = 3;

bool contains(const std::vector<std::size_t>& numbers, std::size_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

at::Tensor drawn(const BlockSetup& setup, std::uint64_t stream, std::size_t parameter) {
  return at::randn(setup.parameters[parameter],
                   model::seeded_generator(at::kCPU, 100 * stream + parameter),
                   at::TensorOptions(at::kDouble));
}

at::Tensor coefficients(const BlockSetup& setup, int step, int rank, std::size_t block,
                        std::size_t parameter) {
  const auto stream =
      (static_cast<std::uint64_t>(step) * 10 + static_cast<std::uint64_t>(rank)) * 10 + block;
  return drawn(setup, stream, parameter);
}

// Checkpointing: what follows is computed again, with a graph, when its gradient comes.
class RecomputingNode final : public torch::autograd::Node {
 public:
  using Forward = std::function<at::Tensor(const at::Tensor& x)>;

  RecomputingNode(torch::autograd::edge_list edges, at::Tensor x, Forward forward)
      : Node(std::move(edges)), x_(std::move(x)), forward_(std::move(forward)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const at::AutoGradMode with_graph(true);
    at::Tensor x = x_.detach().requires_grad_();
    torch::autograd::backward({forward_(x)}, {gradients.front()});
    return {x.grad()};
  }

 private:
  at::Tensor x_;
  Forward forward_;
};

}  // namespace

std::size_t BlockSetup::block_count() const { return std::min(most_blocks, parameters.size()); }

bool BlockSetup::is_missing(std::size_t parameter) const { return contains(missing, parameter); }

bool BlockSetup::is_frozen(std::size_t parameter) const { return contains(frozen, parameter); }

bool BlockSetup::is_used(std::size_t parameter, int rank) const {
  return !is_missing(parameter) || !(missing_everywhere || rank == 0);
}

std::vector<std::size_t> BlockSetup::blocks_of(std::size_t parameter) const {
  std::vector<std::size_t> blocks = {parameter * block_count() / parameters.size()};
  const std::size_t last = block_count() - 1;
  if (contains(tied, parameter) && blocks.front() != last) blocks.push_back(last);
  return blocks;
}

std::string text(const BlockSetup& setup) {
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
  if (!setup.tied.empty()) words += fmt::format(", number {} tied", fmt::join(setup.tied, ", "));
  if (!setup.frozen.empty()) {
    words += fmt::format(", number {} frozen", fmt::join(setup.frozen, ", "));
  }
  if (setup.compute == at::kBFloat16) words += ", computed in bf16";
  if (setup.recomputes) words += ", every block's forward again in its backward";
  return words;
}

BlockModel::BlockModel(const BlockSetup& setup, std::vector<at::Tensor> parameters)
    : setup_(setup), parameters_(std::move(parameters)) {}

TrainedModel BlockModel::trained() const {
  TrainedModel trained;
  trained.blocks.resize(setup_.block_count());
  for (std::size_t b = 0; b < trained.blocks.size(); ++b) {
    trained.blocks[b].name = fmt::format("blocks.{}", b);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    trained.parameters.push_back({fmt::format("parameter {}", i), parameters_[i], setup_.compute});
    for (const std::size_t b : setup_.blocks_of(i)) trained.blocks[b].parameters.push_back(i);
  }
  return trained;
}

at::Tensor BlockModel::body(std::size_t block, at::Tensor x, int step, int rank,
                            const Seen& seen) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto users = setup_.blocks_of(i);
    if (!contains(users, block) || !setup_.is_used(i, rank)) continue;
    if (seen) seen(block, i);
    const at::Tensor w = parameters_[i].view(-1);
    const at::Tensor c =
        coefficients(setup_, step, rank, block, i).to(w.device(), at::kFloat).view(-1);
    x = x + (w * c).sum() + (w * w).sum(at::kFloat) * (slope / 2);
  }
  return x;
}

at::Tensor BlockModel::forward(int step, int rank, const model::BlockHooks& hooks,
                               const Seen& seen) const {
  at::Tensor x = at::zeros({}, at::TensorOptions().device(parameters_.front().device()));
  for (std::size_t b = 0; b < setup_.block_count(); ++b) {
    const int number = static_cast<int>(b);
    if (b == 0) {
      hooks.enter(number, {});
    } else {
      hooks.enter(number, {&x});
    }
    if (setup_.recomputes) {
      const at::Tensor in = x;
      {
        const at::NoGradGuard no_grad;
        x = body(b, in, step, rank, seen);
      }
      const auto again = [this, hooks, b, number, step, rank, seen](const at::Tensor& from) {
        hooks.before_again(number);
        at::Tensor out = body(b, from, step, rank, seen);
        hooks.after_again(number);
        return out;
      };
      const auto node = std::make_shared<RecomputingNode>(
          torch::autograd::edge_list{torch::autograd::impl::gradient_edge(in)}, in, again);
      x = x.variable_data();
      torch::autograd::impl::set_gradient_edge(x, {node, node->add_input_metadata(x)});
    } else {
      x = body(b, x, step, rank, seen);
    }
    hooks.leave(number, {&x});
  }
  return x;
}

at::Tensor BlockModel::initial(const BlockSetup& setup, std::size_t parameter) {
  return drawn(setup, 100'000, parameter);
}

at::Tensor BlockModel::gradient(const BlockSetup& setup, int step, int rank, std::size_t parameter,
                                const at::Tensor& value) {
  at::Tensor sum = at::zeros(value.sizes(), value.options());
  for (const std::size_t block : setup.blocks_of(parameter)) {
    sum += coefficients(setup, step, rank, block, parameter) + slope * value;
  }
  return sum;
}

at::Tensor BlockModel::mean_gradient(const BlockSetup& setup, int step, std::size_t parameter,
                                     const at::Tensor& value) {
  at::Tensor sum = at::zeros(value.sizes(), value.options());
  for (int rank = 0; rank < setup.ranks; ++rank) {
    if (setup.is_used(parameter, rank)) sum += gradient(setup, step, rank, parameter, value);
  }
  return sum / setup.ranks;
}

}  // namespace assay::conformance
