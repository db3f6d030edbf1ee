#include "accounting/model_cost.h"

#include <cmath>

namespace assay::accounting {

namespace {

constexpr const char* kaplan = "Kaplan et al. 2020, section 2.1";

// Matrices of a feed-forward.
double matrices(Family family) { return family == Family::swiglu ? 3 : 2; }

Values values_of(const Model& m) {
  return {{"V", m.vocab},
          {"d", m.d},
          {"f", m.f},
          {"k", m.d_kv},
          {"L", m.layers},
          {"S", m.context},
          {"m", matrices(m.family)},
          {"n", m.norm_has_bias ? 2.0 : 1.0}};
}

}  // namespace

Model counted_model(const model::ModelConfig& config) {
  Model model;
  model.family = config.architecture == model::Architecture::swiglu ? Family::swiglu : Family::gelu;
  model.d = static_cast<double>(config.d_model);
  model.f = static_cast<double>(config.d_ff);
  model.layers = static_cast<double>(config.layers);
  model.heads = static_cast<double>(config.heads);
  model.d_kv = static_cast<double>(config.d_kv());
  model.vocab = static_cast<double>(config.vocab_size);
  model.context = static_cast<double>(config.context);
  model.norm_has_bias = config.norm_has_bias;
  return model;
}

Model counted_model(const Options& fields, const std::string& architecture, std::int64_t context) {
  const bool ffn = architecture == "ffn";
  const auto kind = ffn ? model::Architecture::gelu : model::architecture_from_text(architecture);
  Model model = counted_model(model::model_config(fields, kind, context));
  if (ffn) model.family = Family::ffn;
  return model;
}

Quantities parameters_by_part(const Model& m) {
  const Values v = values_of(m);
  const double norm_vectors = m.norm_has_bias ? 2 : 1;
  Quantities parts;
  const auto add = [&](const char* name, const char* formula, double value) {
    parts.push_back(quantity(name, "count", formula, v, value));
  };
  if (m.family != Family::ffn) {
    add("embedding", "V * d", m.vocab * m.d);
    if (m.family == Family::gelu) add("positions", "S * d", m.context * m.d);
    add("attention", "L * (2 * d^2 + 2 * d * k)", m.layers * (2 * m.d * m.d + 2 * m.d * m.d_kv));
  }
  add("feed-forward", "L * m * d * f", m.layers * matrices(m.family) * m.d * m.f);
  if (m.family != Family::ffn) {
    add("norms", "(2 * L + 1) * n * d", (2 * m.layers + 1) * norm_vectors * m.d);
    if (m.family == Family::swiglu) add("head", "V * d", m.vocab * m.d);
  }
  parts.push_back(sum("parameters", parts));
  return parts;
}

Quantities flops_by_part(const Model& m, const Batch& batch) {
  Values v = values_of(m);
  const double tokens = batch.tokens();
  const double s = batch.seq_len;
  v.insert(v.end(), {{"T", tokens}, {"s", s}});
  Quantities parts;
  const auto add = [&](const char* name, const char* formula, double value) {
    parts.push_back(quantity(name, "FLOP", formula, v, value, kaplan));
  };
  const bool whole_model = m.family != Family::ffn;
  if (whole_model) {
    add("projections", "2 * T * L * (2 * d^2 + 2 * d * k)",
        2 * tokens * m.layers * (2 * m.d * m.d + 2 * m.d * m.d_kv));
    add("scores", "2 * T * s * d * L", 2 * tokens * s * m.d * m.layers);
    add("values", "2 * T * s * d * L", 2 * tokens * s * m.d * m.layers);
  }
  add("feed-forward", "2 * T * L * m * d * f",
      2 * tokens * m.layers * matrices(m.family) * m.d * m.f);
  if (whole_model) add("head", "2 * T * d * V", 2 * tokens * m.d * m.vocab);
  const Quantity forward = sum("forward", parts);
  parts.push_back(forward);
  const Values of_forward = {
      {"forward", forward.value}, {"T", tokens}, {"s", s}, {"d", m.d}, {"L", m.layers}};
  const double unseen = whole_model ? 2 * tokens * (s - 1) * m.d * m.layers : 0;
  parts.push_back(quantity("forward, causal", "FLOP",
                           whole_model ? "forward - 2 * T * (s - 1) * d * L" : "forward",
                           of_forward, forward.value - unseen));
  parts.push_back(
      quantity("backward", "FLOP", "2 * forward", of_forward, 2 * forward.value, kaplan));
  parts.push_back(quantity("step", "FLOP", "3 * forward", of_forward, 3 * forward.value, kaplan));
  return parts;
}

Quantities training_state(double parameters) {
  const Values v = {{"P", parameters}};
  Quantities parts = {
      quantity("weights", "byte", "4 * P", v, 4 * parameters),
      quantity("gradients", "byte", "4 * P", v, 4 * parameters),
      quantity("moments", "byte", "2 * 4 * P", v, 8 * parameters, "Loshchilov and Hutter 2019"),
  };
  parts.push_back(sum("state", parts));
  return parts;
}

Quantities bf16_copies(double parameters) {
  const Values v = {{"P", parameters}};
  return {
      quantity("bf16 weights", "byte", "2 * P", v, 2 * parameters),
      quantity("bf16 gradients", "byte", "2 * P", v, 2 * parameters),
      quantity("less than in fp32", "byte", "(4 * P + 4 * P) - (2 * P + 2 * P)", v, 4 * parameters,
               "Micikevicius et al. 2018, section 3.1"),
  };
}

Quantity devices_for(double bytes, double memory) {
  return quantity("devices for the state", "count", "ceil(state / memory)",
                  {{"state", bytes}, {"memory", memory}}, std::ceil(bytes / memory));
}

}  // namespace assay::accounting
