#include "training/trained_model.h"

#include <string>

namespace assay::training {

namespace {

// "blocks.3.attention.q.weight" → 4, behind the embedding.
std::size_t block_of(const std::string& parameter, std::size_t layers) {
  if (parameter.starts_with("embedding.") || parameter.starts_with("positions.")) return 0;
  if (parameter.starts_with("blocks.")) return 1 + std::stoul(parameter.substr(7));
  return layers + 1;
}

bool is_only_multiplied(const std::string& name, const at::Tensor& tensor) {
  return tensor.dim() == 2 && !name.starts_with("embedding.") && !name.starts_with("positions.");
}

}  // namespace

TrainedModel trained_model(const model::Transformer& model, const PrecisionPolicy& policy) {
  const auto layers = static_cast<std::size_t>(model.config().layers);
  TrainedModel trained;
  trained.blocks.resize(layers + 2);
  trained.blocks.front().name = "embedding";
  for (std::size_t i = 0; i < layers; ++i) {
    trained.blocks[i + 1].name = "blocks." + std::to_string(i);
  }
  trained.blocks.back().name = "head";
  bool has_head = false;
  for (const auto& [name, tensor] : model.parameters()) {
    const at::ScalarType own = tensor.scalar_type();
    const auto compute = is_only_multiplied(name, tensor) ? policy.autocast.value_or(own) : own;
    trained.blocks[block_of(name, layers)].parameters.push_back(trained.parameters.size());
    trained.parameters.push_back({name, tensor, compute});
    has_head = has_head || name.starts_with("head.");
  }
  if (!has_head) trained.blocks.back().parameters.push_back(0);  // the embedding comes first
  return trained;
}

}  // namespace assay::training
