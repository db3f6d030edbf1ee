#include "exchanged_model.h"

#include <fmt/format.h>

#include <assay/reference.h>
#include <algorithm>
#include <stdexcept>

#include "model/safetensors.h"

namespace assay::model_step {

namespace {

const at::Tensor* find(const std::vector<NamedTensor>& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const NamedTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &found->tensor;
}

// The tensor's size along dimension `along` of `dimensions`.
std::int64_t size_of(const std::vector<NamedTensor>& inputs, const std::string& name,
                     std::int64_t dimensions, std::int64_t along) {
  const at::Tensor* tensor = find(inputs, name);
  if (tensor == nullptr) {
    throw std::invalid_argument(fmt::format("the exchange lacks '{}'", name));
  }
  if (tensor->dim() != dimensions) {
    throw std::invalid_argument(fmt::format("the exchange's '{}' has {} dimensions, not {}", name,
                                            tensor->dim(), dimensions));
  }
  return tensor->size(along);
}

std::int64_t count_layers(const std::vector<NamedTensor>& inputs) {
  std::int64_t layers = 0;
  while (find(inputs, fmt::format("blocks.{}.norm1.weight", layers)) != nullptr) ++layers;
  return layers;
}

model::ModelConfig config_of(const model::ModelConfig& wanted, const Ops& ops,
                             const std::vector<NamedTensor>& inputs) {
  model::ModelConfig config = wanted;
  config.vocab_size = size_of(inputs, "embedding.weight", 2, 0);
  config.d_model = size_of(inputs, "embedding.weight", 2, 1);
  config.d_ff = size_of(inputs, "blocks.0.feed_forward.w1.weight", 2, 0);
  config.layers = count_layers(inputs);
  config.heads = config.d_model / wanted.d_head();
  config.kv_heads = size_of(inputs, "blocks.0.attention.k.weight", 2, 0) / wanted.d_head();
  config.context = wanted.architecture == model::Architecture::gelu
                       ? size_of(inputs, "positions.weight", 2, 0)
                       : size_of(inputs, "tokens", 2, 1);
  config.norm_has_bias = model::exchanged_norm_has_bias(ops, inputs, "norm.bias");
  if (config.d_model == 0 || config.d_model % wanted.d_head() != 0) {
    throw std::invalid_argument(
        fmt::format("the exchanged model is {} wide, not a multiple of the "
                    "head size {}",
                    config.d_model, wanted.d_head()));
  }
  if (config.kv_heads == 0 || config.heads % config.kv_heads != 0) {
    throw std::invalid_argument(
        fmt::format("the exchanged model has {} heads of k and v, which do not divide its {} heads",
                    config.kv_heads, config.heads));
  }
  const bool grouped = wanted.used_kv_heads() < wanted.heads;
  if (config.heads > 1 && grouped != (config.kv_heads < config.heads)) {
    throw std::invalid_argument(
        fmt::format("the exchanged model has {} heads of k and v for {} heads; the case has {} for "
                    "{}",
                    config.kv_heads, config.heads, wanted.used_kv_heads(), wanted.heads));
  }
  if (config.layers < std::min<std::int64_t>(2, wanted.layers)) {
    throw std::invalid_argument(
        fmt::format("the exchanged model has {} layer, two are needed", config.layers));
  }
  return config;
}

}  // namespace

ExchangedModel exchanged_model(const model::ModelConfig& config, const Ops& ops,
                               const std::vector<NamedTensor>& inputs) {
  ExchangedModel exchanged;
  exchanged.config = config_of(config, ops, inputs);
  const auto batch = size_of(inputs, "tokens", 2, 0);
  const auto seq_len = size_of(inputs, "tokens", 2, 1);
  exchanged.shape = {batch, seq_len};
  exchanged.tokens = reference::exchanged(inputs, "tokens", {batch, seq_len}, at::kLong);
  exchanged.targets = reference::exchanged(inputs, "targets", {batch, seq_len}, at::kLong);
  for (const auto* tokens : {&exchanged.tokens, &exchanged.targets}) {
    if (tokens->numel() == 0 || tokens->min().item<std::int64_t>() < 0 ||
        tokens->max().item<std::int64_t>() >= exchanged.config.vocab_size) {
      throw std::invalid_argument("the exchange has tokens or targets outside the vocabulary");
    }
  }
  if (seq_len > exchanged.config.context) {
    throw std::invalid_argument("the exchange has more tokens than positions");
  }
  for (const auto& shape : model::parameter_shapes(exchanged.config)) {
    exchanged.parameters.push_back(
        {shape.name, reference::exchanged(inputs, shape.name, shape.sizes, at::kFloat)});
  }
  return exchanged;
}

void require(const std::vector<NamedTensor>& tensors, const std::string& name,
             at::IntArrayRef sizes) {
  const at::Tensor* tensor = find(tensors, name);
  if (tensor == nullptr) {
    throw std::invalid_argument(fmt::format("the exchange lacks '{}'", name));
  }
  if (tensor->sizes() != sizes) {
    throw std::invalid_argument(
        fmt::format("the exchange's '{}' has another shape than the model "
                    "gives it",
                    name));
  }
  if (!at::isFloatingType(tensor->scalar_type())) {
    throw std::invalid_argument(fmt::format("the exchange's '{}' is {}, not a floating-point dtype",
                                            name, c10::toString(tensor->scalar_type())));
  }
}

}  // namespace assay::model_step
