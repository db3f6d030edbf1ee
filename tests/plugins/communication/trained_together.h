#pragma once

// Training under a communication variant, and in one process on the whole batch.

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_vector_norm.h>

#include "model/autocast.h"
#include "model/random.h"
#include "plugins/support.h"
#include "training/shards.h"
#include "training/trained_model.h"
#include "training/training_state.h"

namespace assay::test {

constexpr int trained_steps = 10;
constexpr std::int64_t trained_seq_len = 8;

struct TrainingSetup {
  std::string variant;
  Options options;
  std::string precision = "fp32";
  model::Architecture architecture = model::Architecture::swiglu;
  bool freezes = false;  // the first block's q and the last norm
  double tolerance = 1e-4;
};

inline void PrintTo(const TrainingSetup& setup, std::ostream* stream) {
  *stream << setup.variant << ", " << setup.precision
          << (setup.architecture == model::Architecture::gelu ? ", tied" : "")
          << (setup.freezes ? ", frozen" : "");
  for (const auto& [name, value] : setup.options) *stream << ", " << name << " " << to_text(value);
}

inline model::ModelConfig config_of(const TrainingSetup& setup) {
  model::ModelConfig config;
  config.architecture = setup.architecture;
  config.d_model = 24;  // slices end within matrices
  config.d_ff = 40;
  config.layers = 3;
  config.heads = 2;
  config.vocab_size = 50;
  config.context = trained_seq_len + 4;  // positions that are never used
  return config;
}

// Two sequences of each of the ranks first to last - 1, in a step.
inline at::Tensor drawn_tokens(int first, int last, int step, std::uint64_t stream,
                               at::Device device) {
  std::vector<at::Tensor> tokens;
  for (int rank = first; rank < last; ++rank) {
    tokens.push_back(model::random_tokens(
        {2, trained_seq_len}, 50, device,
        1000 * stream + 10 * static_cast<std::uint64_t>(step) + static_cast<std::uint64_t>(rank)));
  }
  return at::cat(tokens);
}

// Trains on the tokens of ranks first to last - 1; communication may be null.
inline std::vector<at::Tensor> train(const TrainingSetup& setup, CommunicationHandle communication,
                                     const Group& group, int first, int last, at::Device device) {
  CaseNames names;
  names.workload = "model_step";
  names.precision = setup.precision;
  const Case made = make_case(names, device);
  const PrecisionPolicy& policy = made.context.precision;
  // Ranks begin apart; the variant makes them alike.
  model::Transformer transformer(config_of(setup), made.context.ops, device, policy.parameters,
                                 3 + static_cast<std::uint64_t>(group.rank));
  if (setup.freezes) {
    for (const NamedTensor& parameter : transformer.parameters()) {
      const bool is_frozen =
          parameter.name == "blocks.0.attention.q.weight" || parameter.name == "norm.weight";
      if (is_frozen) at::Tensor(parameter.tensor).requires_grad_(false);
    }
  }
  TrainedModel trained = training::trained_model(transformer, policy);
  model::BlockHooks hooks;
  if (communication) {
    communication.attach(trained, Mesh(group));
    hooks = model::BlockHooks::of(communication, trained);
    transformer.set_hooks(hooks);
  }
  training::Shards shards(trained, communication, group);
  training::TrainingState state(transformer.parameter_tensors(), policy, communication);
  if (communication && communication.traits().wants_gradient_ready) {
    state.on_gradient_ready([&](std::size_t i) { communication.gradient_ready(i); });
  }
  for (int step = 0; step < trained_steps; ++step) {
    state.clear_gradients();
    at::Tensor loss;
    {
      const model::Autocast autocast(device, policy.autocast);
      const at::Tensor logits = transformer.forward(drawn_tokens(first, last, step, 0, device));
      loss = transformer.loss(logits, drawn_tokens(first, last, step, 1, device));
    }
    if (communication) communication.backward_begins(loss);
    hooks.backward_begins();
    state.backward(loss);
    hooks.backward_ended();
    if (communication) communication.backward_finished();
    state.step(made.context.ops);
    if (communication) communication.after_step();
  }
  return shards.gather_parameters();
}

// The variant with its defaults and the setup's options.
inline std::unique_ptr<CommunicationBoundary> make_variant(const TrainingSetup& setup) {
  const PluginEntry& variant = entry("communication", setup.variant, setup.variant);
  PluginDescription description;
  throw_unless_ok(variant.describe(description));
  Options options;
  for (const auto& option : description.parameters) options[option.name] = option.default_value;
  for (const auto& [name, value] : setup.options) options[name] = value;
  return make<CommunicationBoundary>(variant, options);
}

struct TrainedRank {
  Status status;
  std::vector<at::Tensor> parameters;
};

// As one process trains, and all ranks alike.
inline void expect_trained(const std::vector<TrainedRank>& trained,
                           const std::vector<at::Tensor>& expected, double tolerance) {
  for (const TrainedRank& rank : trained) {
    ASSERT_TRUE(rank.status.ok()) << rank.status.reason;
    ASSERT_EQ(rank.parameters.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const at::Tensor found = rank.parameters[i].cpu();
      EXPECT_TRUE(found.equal(trained.front().parameters[i].cpu()))
          << "parameter " << i << " differs between the ranks";
      const at::Tensor right = expected[i].cpu();
      const double error =
          (at::linalg_vector_norm(found - right) / at::linalg_vector_norm(right)).item<double>();
      EXPECT_LT(error, tolerance) << "parameter " << i;
    }
  }
}

inline TrainingSetup setup_of(std::string variant, Options options = {}) {
  TrainingSetup setup;
  setup.variant = std::move(variant);
  setup.options = std::move(options);
  return setup;
}

inline std::vector<TrainingSetup> training_setups() {
  std::vector<TrainingSetup> plain;
  for (const char* variant :
       {"naive", "flat", "overlap", "bucketed", "reducer", "sharded_optimizer", "zero1", "fsdp"}) {
    plain.push_back(setup_of(variant));
  }
  plain.push_back(setup_of("bucketed", {{"bucket_size", integer(3000)}}));
  plain.push_back(
      setup_of("bucketed", {{"bucket_size", integer(3000)}, {"exchange", std::string("copies")}}));
  plain.push_back(setup_of("reducer", {{"bucket_size", integer(3000)}}));
  plain.push_back(setup_of("zero1", {{"bucket_size", integer(3000)}}));
  plain.push_back(setup_of("fsdp", {{"reshard_after_forward", false}}));
  plain.push_back(setup_of("fsdp", {{"blocks", integer(2)}, {"prefetch", integer(0)}}));
  plain.push_back(setup_of("fsdp", {{"blocks", integer(3)}, {"prefetch", integer(4)}}));
  std::vector<TrainingSetup> all = plain;
  for (TrainingSetup setup : plain) {
    setup.architecture = model::Architecture::gelu;
    setup.freezes = true;
    all.push_back(setup);
  }
  for (const char* variant : {"bucketed", "zero1", "fsdp", "sharded_optimizer"}) {
    // Half a batch rounds otherwise in bf16, and AdamW follows a gradient's sign.
    TrainingSetup setup = setup_of(variant);
    setup.precision = "bf16";
    setup.tolerance = 0.02;
    all.push_back(setup);
    if (setup.variant == "sharded_optimizer") continue;
    setup.precision = "fp32";
    setup.options = {{"gradients", std::string("bf16")}};
    all.push_back(setup);
  }
  return all;
}

}  // namespace assay::test
