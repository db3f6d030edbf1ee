#include "model/model_config.h"

#include <numeric>
#include <stdexcept>

namespace assay::model {

namespace {

std::int64_t size_field(const Options& fields, const std::string& name) {
  const auto found = fields.find(name);
  const auto* value = found == fields.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  if (value == nullptr) {
    throw std::invalid_argument("the model config lacks the whole number '" + name + "'");
  }
  if (*value < 1) throw std::invalid_argument("the model config's '" + name + "' is below 1");
  return *value;
}

std::int64_t elements(const ParameterShape& shape) {
  return std::accumulate(shape.sizes.begin(), shape.sizes.end(), std::int64_t{1},
                         std::multiplies<>());
}

void add_norm_shapes(std::vector<ParameterShape>& shapes, const ModelConfig& config,
                     const std::string& name) {
  shapes.push_back({name + ".weight", {config.d_model}, Initial::near_one});
  if (config.norm_has_bias) shapes.push_back({name + ".bias", {config.d_model}, Initial::normal});
}

void add_block_shapes(std::vector<ParameterShape>& shapes, const ModelConfig& config,
                      const std::string& block) {
  const auto d = config.d_model;
  const auto f = config.d_ff;
  add_norm_shapes(shapes, config, block + "norm1");
  const auto add = [&](const std::string& name, std::int64_t out, std::int64_t in,
                       const std::string& group) {
    shapes.push_back({block + name + ".weight", {out, in}, Initial::normal, group});
  };
  const std::string qkv = block + "attention.qkv";
  add("attention.q", d, d, qkv);
  add("attention.k", config.d_kv(), d, qkv);
  add("attention.v", config.d_kv(), d, qkv);
  add("attention.o", d, d, "");
  add_norm_shapes(shapes, config, block + "norm2");
  const bool gated = config.architecture == Architecture::swiglu;
  const std::string gate_up = gated ? block + "feed_forward.gate_up" : "";
  add("feed_forward.w1", f, d, gate_up);
  add("feed_forward.w2", d, f, "");
  if (gated) add("feed_forward.w3", f, d, gate_up);
}

}  // namespace

Architecture architecture_from_text(std::string_view text) {
  if (text == "swiglu") return Architecture::swiglu;
  if (text == "gelu") return Architecture::gelu;
  throw std::invalid_argument("unknown architecture '" + std::string(text) +
                              "'; known: swiglu, gelu");
}

std::vector<ParameterInfo> model_fields() {
  const auto size = [](std::string name, double maximum, std::string description) {
    ParameterInfo field;
    field.name = std::move(name);
    field.minimum = 1;
    field.maximum = maximum;
    field.description = std::move(description);
    return field;
  };
  constexpr double widest = 1 << 24;
  return {size("d_model", widest, "Width of the residual stream."),
          size("d_ff", widest, "Width inside the feed-forward."),
          size("layers", 1 << 16, "Blocks."),
          size("heads", 1 << 16, "Heads of an attention; they divide d_model."),
          size("vocab_size", widest, "Tokens in the vocabulary."),
          integer_parameter("kv_heads", 0, 0, 1 << 16,
                            "Heads of k and v; they divide heads. 0 or left out: as many.")};
}

ModelConfig model_config(const Options& fields, Architecture architecture, std::int64_t context) {
  ModelConfig config;
  config.architecture = architecture;
  config.d_model = size_field(fields, "d_model");
  config.d_ff = size_field(fields, "d_ff");
  config.layers = size_field(fields, "layers");
  config.heads = size_field(fields, "heads");
  config.vocab_size = size_field(fields, "vocab_size");
  if (const auto given = fields.find("kv_heads"); given != fields.end()) {
    const auto* count = std::get_if<std::int64_t>(&given->second);
    if (count == nullptr || *count < 0) {
      throw std::invalid_argument("the model config's 'kv_heads' is not a whole number from 0 on");
    }
    config.kv_heads = *count;
  }
  config.context = context;
  if (config.d_model % config.heads != 0) {
    throw std::invalid_argument("d_model " + std::to_string(config.d_model) +
                                " is not a multiple of heads " + std::to_string(config.heads));
  }
  if (config.heads % config.used_kv_heads() != 0) {
    throw std::invalid_argument("heads " + std::to_string(config.heads) +
                                " is not a multiple of kv_heads " +
                                std::to_string(config.kv_heads));
  }
  if (architecture == Architecture::swiglu && config.d_head() % 2 != 0) {
    throw std::invalid_argument("RoPE rotates pairs: the head size " +
                                std::to_string(config.d_head()) + " must be even");
  }
  return config;
}

std::vector<ParameterShape> parameter_shapes(const ModelConfig& config) {
  std::vector<ParameterShape> shapes;
  shapes.push_back({"embedding.weight", {config.vocab_size, config.d_model}});
  if (config.architecture == Architecture::gelu) {
    shapes.push_back({"positions.weight", {config.context, config.d_model}});
  }
  for (std::int64_t i = 0; i < config.layers; ++i) {
    add_block_shapes(shapes, config, "blocks." + std::to_string(i) + ".");
  }
  add_norm_shapes(shapes, config, "norm");
  if (config.architecture == Architecture::swiglu) {
    shapes.push_back({"head.weight", {config.vocab_size, config.d_model}});
  }
  return shapes;
}

std::int64_t count_parameters(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const auto& shape : parameter_shapes(config)) count += elements(shape);
  return count;
}

double forward_flops(const ModelConfig& config, std::int64_t batch, std::int64_t seq_len) {
  const auto d = static_cast<double>(config.d_model);
  const auto layers = static_cast<double>(config.layers);
  const double feed_forward_matrices = config.architecture == Architecture::swiglu ? 3 : 2;
  const auto d_kv = static_cast<double>(config.d_kv());
  const double block =
      2 * d * d + 2 * d * d_kv + feed_forward_matrices * d * static_cast<double>(config.d_ff);
  const double matrices = layers * block + d * static_cast<double>(config.vocab_size);
  const auto s = static_cast<double>(seq_len);
  const auto b = static_cast<double>(batch);
  return 2 * b * s * matrices + 4 * d * layers * b * s * (s + 1) / 2;
}

}  // namespace assay::model
