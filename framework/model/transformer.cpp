#include "model/transformer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <assay/range.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "model/checkpoint.h"
#include "model/random.h"
#include "model/textbook_ops.h"

namespace assay::model {

namespace {

constexpr double initial_deviation = 0.02;

// Memory of the parameters: one allocation a group, one for each that has none.
class ParameterMemory {
 public:
  ParameterMemory(const std::vector<ParameterShape>& shapes, const at::TensorOptions& options)
      : options_(options) {
    for (const auto& shape : shapes) {
      if (!shape.group.empty()) groups_[shape.group].size += c10::multiply_integers(shape.sizes);
    }
  }

  // The next parameter's, in the order of the shapes, not written yet.
  at::Tensor next(const ParameterShape& shape) {
    if (shape.group.empty()) return at::empty(shape.sizes, options_);
    Group& group = groups_.at(shape.group);
    if (!group.memory.defined()) group.memory = at::empty({group.size}, options_);
    const auto count = c10::multiply_integers(shape.sizes);
    const auto place = group.memory.narrow(0, group.taken, count).view(shape.sizes);
    group.taken += count;
    // No view: an update of one must not show as a change of the others.
    return place.variable_data();
  }

 private:
  struct Group {
    std::int64_t size = 0;
    std::int64_t taken = 0;
    at::Tensor memory;
  };
  at::TensorOptions options_;
  std::unordered_map<std::string, Group> groups_;
};

void draw(const at::Tensor& values, Initial initial, const at::Generator& generator) {
  switch (initial) {
    case Initial::normal:
      values.normal_(0, initial_deviation, generator);
      break;
    case Initial::near_one:
      values.normal_(1, initial_deviation, generator);
      break;
  }
}

}  // namespace

Transformer::Transformer(const ModelConfig& config, Ops ops, at::Device device,
                         at::ScalarType dtype, std::optional<std::uint64_t> seed)
    : config_(config), ops_(std::move(ops)) {
  complete(ops_);
  make_parameters(device, dtype, seed);
  name_parameters();
  if (config_.architecture == Architecture::swiglu) make_rope_tables(device, dtype);
}

void Transformer::make_parameters(at::Device device, at::ScalarType dtype,
                                  std::optional<std::uint64_t> seed) {
  const auto generator = seeded_generator(device, seed.value_or(0));
  const auto options = at::TensorOptions().device(device);
  const auto shapes = parameter_shapes(config_);
  ParameterMemory memory(shapes, options.dtype(dtype));
  for (const auto& shape : shapes) {
    const at::Tensor parameter = memory.next(shape);
    parameters_.push_back({shape.name, parameter});
    if (seed) {
      // Drawn in fp32 for every dtype.
      const at::Tensor drawn =
          dtype == at::kFloat ? parameter : at::empty(shape.sizes, options.dtype(at::kFloat));
      draw(drawn, shape.initial, generator);
      if (dtype != at::kFloat) parameter.copy_(drawn);
    }
    parameter.requires_grad_();
  }
}

void Transformer::name_parameters() {
  std::unordered_map<std::string, at::Tensor> named;
  for (const auto& parameter : parameters_) named[parameter.name] = parameter.tensor;
  // Unknown names give an undefined tensor.
  const auto get = [&](const std::string& name) { return named[name + ".weight"]; };
  const auto get_norm = [&](const std::string& name) {
    return NormWeights{named[name + ".weight"], named[name + ".bias"]};
  };
  embedding_ = get("embedding");
  positions_ = get("positions");
  head_ = config_.architecture == Architecture::swiglu ? get("head") : embedding_;
  final_norm_ = get_norm("norm");
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const std::string block = "blocks." + std::to_string(i) + ".";
    const std::string attention = block + "attention.";
    const std::string feed_forward = block + "feed_forward.";
    blocks_.push_back({get_norm(block + "norm1"),
                       get_norm(block + "norm2"),
                       {get(attention + "q"), get(attention + "k"), get(attention + "v")},
                       get(attention + "o"),
                       {get(feed_forward + "w1"), get(feed_forward + "w3")},
                       get(feed_forward + "w2")});
  }
}

// Pair i of position p is turned by p · theta^(−2i / d_head) (Su et al. 2021, section 3.2.2).
void Transformer::make_rope_tables(at::Device device, at::ScalarType dtype) {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const auto exponents =
      at::arange(config_.d_head() / 2, options) * (-2.0 / static_cast<double>(config_.d_head()));
  const auto angles =
      at::outer(at::arange(config_.context, options), at::pow(config_.rope_theta, exponents));
  const auto table_dtype = dtype == at::kDouble ? at::kDouble : at::kFloat;
  rope_cos_ = angles.cos().to(device, table_dtype);
  rope_sin_ = angles.sin().to(device, table_dtype);
}

std::vector<at::Tensor> Transformer::parameter_tensors() const {
  std::vector<at::Tensor> tensors;
  for (const auto& parameter : parameters_) tensors.push_back(parameter.tensor);
  return tensors;
}

void Transformer::load(const std::vector<NamedTensor>& parameters) {
  TORCH_CHECK_VALUE(parameters.size() == parameters_.size(), "the models differ in parameters");
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor(parameters_[i].tensor).copy_(parameters[i].tensor);
  }
}

NormInputs Transformer::norm_inputs(at::Tensor x, const NormWeights& weights) const {
  return {std::move(x), weights.weight, weights.bias, config_.norm_eps};
}

at::Tensor Transformer::mix(const Block& block, at::Tensor x) const {
  const auto by_head = [&](at::Tensor projected) {
    return projected.unflatten(-1, {-1, config_.d_head()});
  };
  Qkv products = ops_.qkv(x, block.qkv);
  AttentionInputs in;
  in.q = by_head(std::move(products.q));
  in.k = by_head(std::move(products.k));
  in.v = by_head(std::move(products.v));
  if (rope_cos_.defined()) {
    const auto cos = rope_cos_.narrow(0, 0, x.size(1));
    const auto sin = rope_sin_.narrow(0, 0, x.size(1));
    in.q = ops_.rope(in.q, cos, sin);
    in.k = ops_.rope(in.k, cos, sin);
  }
  for (auto* heads : {&in.q, &in.k, &in.v}) *heads = heads->transpose(1, 2);
  in.causal = true;
  in.scale = 1 / std::sqrt(static_cast<double>(config_.d_head()));
  return ops_.attention(in).transpose(1, 2).flatten(-2);
}

at::Tensor Transformer::attend(const Block& block, at::Tensor x) const {
  const Range range("attention");
  return ops_.linear(mix(block, std::move(x)), block.o);
}

at::Tensor Transformer::feed_forward(const Block& block, at::Tensor x) const {
  const Range range("feed_forward");
  if (config_.architecture == Architecture::gelu) {
    return ops_.linear(ops_.gelu(ops_.linear(x, block.gate_up.gate)), block.down);
  }
  const GateUp made = ops_.gate_up(x, block.gate_up);
  return ops_.linear(ops_.swiglu(made.gate, made.up), block.down);
}

at::Tensor Transformer::embed(const at::Tensor& tokens) const {
  const Range range("embedding");
  at::Tensor residual = ops_.embedding(tokens, embedding_);
  if (positions_.defined()) residual = residual + positions_.narrow(0, 0, tokens.size(1));
  return residual;
}

at::Tensor Transformer::project(const at::Tensor& normed) const {
  const Range range("head");
  return ops_.linear(normed, head_);
}

std::pair<at::Tensor, at::Tensor> Transformer::add_norm(at::Tensor residual, at::Tensor x,
                                                        const NormWeights& weights) const {
  const Range range("norm");
  return ops_.add_norm(std::move(residual), norm_inputs(std::move(x), weights));
}

// Values are moved on, not kept: memory freed early is reused while it is still in the L2 cache.
void Transformer::run_block(int index, Stream& stream) const {
  const Block& block = blocks_[static_cast<std::size_t>(index)];
  const Range range("block", index);
  auto& [residual, pending] = stream;
  at::Tensor normed;
  if (pending.defined()) {
    std::tie(residual, normed) = add_norm(std::move(residual), std::move(pending), block.norm1);
  } else {
    const Range norm("norm");
    normed = ops_.norm(norm_inputs(residual, block.norm1));
  }
  at::Tensor attended = attend(block, std::move(normed));
  std::tie(residual, normed) = add_norm(std::move(residual), std::move(attended), block.norm2);
  pending = feed_forward(block, std::move(normed));
}

void Transformer::run_checkpoint(int first, int end, Stream& stream) const {
  const auto part = [this, first, end](std::vector<at::Tensor> inputs, bool again) {
    Stream inner{std::move(inputs[0]), std::move(inputs[1])};
    if (again) hooks_.before_again(first + 1);
    for (int i = first; i < end; ++i) run_block(i, inner);
    if (again) hooks_.after_again(first + 1);
    return std::vector<at::Tensor>{std::move(inner.residual), std::move(inner.pending)};
  };
  auto made = checkpointed({std::move(stream.residual), std::move(stream.pending)}, part);
  stream = {std::move(made[0]), std::move(made[1])};
}

void Transformer::run_blocks(Stream& stream) const {
  const int blocks = static_cast<int>(blocks_.size());
  const bool checkpoints = checkpoint_every_ > 0 && at::GradMode::is_enabled();
  const int together = checkpoints ? checkpoint_every_ : 1;
  TORCH_CHECK_VALUE(!hooks_ || together == 1, "hooks around blocks need checkpoints of one layer");
  for (int first = 0; first < blocks; first += together) {
    const int end = std::min(first + together, blocks);
    hooks_.enter(first + 1, {&stream.residual, &stream.pending});
    if (checkpoints) {
      run_checkpoint(first, end, stream);
    } else {
      run_block(first, stream);
    }
    hooks_.leave(end, {&stream.residual, &stream.pending});
  }
}

at::Tensor Transformer::forward(const at::Tensor& tokens) const {
  hooks_.enter(0, {});
  Stream stream{embed(tokens), {}};
  hooks_.leave(0, {&stream.residual});
  run_blocks(stream);
  const int head = static_cast<int>(blocks_.size()) + 1;
  hooks_.enter(head, {&stream.residual, &stream.pending});
  at::Tensor normed =
      add_norm(std::move(stream.residual), std::move(stream.pending), final_norm_).second;
  at::Tensor logits = project(normed);
  hooks_.leave(head, {&logits});
  return logits;
}

at::Tensor Transformer::loss(const at::Tensor& logits, const at::Tensor& targets) const {
  const Range range("loss");
  return ops_.loss(logits.flatten(0, 1), targets.flatten());
}

}  // namespace assay::model
