#include "model/transformer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>
#include <assay/reference.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "model/autocast.h"
#include "model/random.h"
#include "plain_model.h"
#include "training/trained_model.h"

namespace assay::model {
namespace {

const std::vector<std::vector<int>> tokens = {{3, 0, 7, 12, 3}, {5, 5, 1, 9, 2}};
const std::vector<std::vector<int>> targets = {{0, 7, 12, 3, 11}, {5, 1, 9, 2, 6}};

at::Tensor as_tensor(const std::vector<std::vector<int>>& rows) {
  auto tensor =
      at::empty({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())},
                at::kLong);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      tensor[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(j)] = rows[i][j];
    }
  }
  return tensor;
}

std::vector<double> as_vector(const at::Tensor& tensor) {
  const auto flat = tensor.detach().to(at::kDouble).contiguous().flatten();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

struct Variant {
  Architecture architecture;
  bool layer_norm;
  int kv_heads = 2;
};

// The same tiny model twice: ours, and the plain one, with equal parameters.
class TransformerTest : public testing::TestWithParam<Variant> {
 protected:
  TransformerTest() {
    config.architecture = GetParam().architecture;
    config.d_model = 8;
    config.d_ff = 12;
    config.layers = 2;
    config.heads = 2;
    config.kv_heads = GetParam().kv_heads;
    config.vocab_size = 13;
    config.context = 6;
    config.norm_has_bias = GetParam().layer_norm;
    sizes = {config.architecture == Architecture::swiglu,
             config.norm_has_bias,
             8,
             12,
             2,
             2,
             13,
             GetParam().kv_heads};
  }

  // Parameters large enough for attention to be far from uniform.
  Transformer make(at::ScalarType dtype) const {
    Transformer model(config, reference::operations(config.norm_has_bias), at::kCPU, dtype, 7);
    const at::NoGradGuard no_grad;
    auto generator = seeded_generator(at::kCPU, 11);
    for (const auto& parameter : model.parameters()) {
      const bool norm_weight = parameter.tensor.dim() == 1;
      at::Tensor(parameter.tensor).normal_(norm_weight ? 1 : 0, norm_weight ? 0.2 : 0.5, generator);
    }
    return model;
  }

  static plain::Parameters plain_parameters(const Transformer& model) {
    plain::Parameters parameters;
    for (const auto& parameter : model.parameters()) {
      parameters[parameter.name] = as_vector(parameter.tensor);
    }
    return parameters;
  }

  ModelConfig config;
  plain::Sizes sizes;
};

TEST_P(TransformerTest, LogitsAndLossAreThePlainModels) {
  const auto model = make(at::kDouble);
  const auto parameters = plain_parameters(model);
  const auto logits = model.forward(as_tensor(tokens));
  ASSERT_EQ(logits.sizes(), at::IntArrayRef({2, 5, 13}));
  for (std::size_t s = 0; s < tokens.size(); ++s) {
    const auto expected = plain::logits(sizes, parameters, tokens[s]);
    const auto found = as_vector(logits[static_cast<std::int64_t>(s)]);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-11);
  }
  EXPECT_NEAR(model.loss(logits, as_tensor(targets)).item<double>(),
              plain::loss(sizes, parameters, tokens, targets), 1e-12);
}

TEST_P(TransformerTest, EveryGradientIsThePlainLossesSlope) {
  const auto model = make(at::kDouble);
  torch::autograd::backward({model.loss(model.forward(as_tensor(tokens)), as_tensor(targets))});
  auto parameters = plain_parameters(model);
  for (const auto& parameter : model.parameters()) {
    const auto found = as_vector(parameter.tensor.grad());
    auto& values = parameters[parameter.name];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = values[i];
      const auto loss_at = [&](double offset) {
        values[i] = value + offset;
        return plain::loss(sizes, parameters, tokens, targets);
      };
      // A central difference of fourth order in the step.
      constexpr double h = 2e-4;
      const double slope =
          (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h);
      values[i] = value;
      ASSERT_NEAR(found[i], slope, 1e-8 * (1 + std::abs(slope))) << parameter.name << " " << i;
    }
  }
}

TEST_P(TransformerTest, Fp32AgreesToItsPrecision) {
  const auto model = make(at::kFloat);
  const auto loss = model.loss(model.forward(as_tensor(tokens)), as_tensor(targets));
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_NEAR(loss.item<double>(), plain::loss(sizes, plain_parameters(model), tokens, targets),
              1e-5);
}

TEST_P(TransformerTest, LaterTokensDoNotReachEarlierLogits) {
  const auto model = make(at::kDouble);
  auto changed = tokens;
  changed[0].back() = 4;
  const auto before = model.forward(as_tensor(tokens))[0].narrow(0, 0, 4);
  const auto after = model.forward(as_tensor(changed))[0].narrow(0, 0, 4);
  EXPECT_TRUE(before.equal(after));
}

TEST_P(TransformerTest, ASeedGivesOneModel) {
  const auto make_seeded = [&](std::uint64_t seed) {
    return Transformer(config, reference::operations(config.norm_has_bias), at::kCPU, at::kFloat,
                       seed);
  };
  const auto first = make_seeded(1);
  const auto again = make_seeded(1);
  const auto other = make_seeded(2);
  for (std::size_t i = 0; i < first.parameters().size(); ++i) {
    EXPECT_TRUE(first.parameters()[i].tensor.equal(again.parameters()[i].tensor));
    EXPECT_TRUE(first.parameters()[i].tensor.requires_grad());
  }
  EXPECT_FALSE(first.parameters()[0].tensor.equal(other.parameters()[0].tensor));
}

// Drawn one after another in fp32, as before parameters shared allocations.
TEST_P(TransformerTest, ParametersAreDrawnInTheirOrder) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const Transformer model(config, reference::operations(config.norm_has_bias), at::kCPU, dtype,
                            3);
    const auto generator = seeded_generator(at::kCPU, 3);
    for (const auto& parameter : model.parameters()) {
      const bool of_norm = parameter.tensor.dim() == 1 && parameter.name.ends_with(".weight");
      const auto drawn =
          at::empty(parameter.tensor.sizes(), at::kFloat).normal_(of_norm ? 1 : 0, 0.02, generator);
      EXPECT_TRUE(parameter.tensor.equal(drawn.to(dtype))) << parameter.name;
    }
  }
}

// One product over the joined weights, as a fused kernel would do it, with a gradient each.
struct OneProduct : torch::autograd::Function<OneProduct> {
  using Tensors = torch::autograd::variable_list;

  // The weights are here for autograd alone.
  static Tensors forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                         const at::Tensor& whole, const std::vector<std::int64_t>& rows,
                         const at::Tensor& /*first*/, const at::Tensor& /*second*/,
                         const std::optional<at::Tensor>& /*third*/) {
    context->save_for_backward({x, whole});
    context->saved_data["rows"] = rows;
    return at::matmul(x, whole.t()).split_with_sizes(rows, -1);
  }
  static Tensors backward(torch::autograd::AutogradContext* context, const Tensors& gradients) {
    const auto saved = context->get_saved_variables();
    const auto dout = at::cat(gradients, -1);
    const auto dweight = at::matmul(dout.flatten(0, -2).t(), saved[0].flatten(0, -2));
    const auto rows = context->saved_data["rows"].toIntVector();
    const Tensors parts = dweight.split_with_sizes(rows, 0);
    return {at::matmul(dout, saved[1]),
            {},
            {},
            parts[0],
            parts[1],
            parts.size() == 3 ? parts[2] : at::Tensor()};
  }
};

TEST_P(TransformerTest, ProductsOfOneInputMayBeOne) {
  const auto model = make(at::kDouble);
  int joint = 0;
  const auto product = [&](const at::Tensor& x, const std::vector<at::Tensor>& weights) {
    const auto whole = joined(weights);
    EXPECT_TRUE(whole.defined());
    ++joint;
    std::vector<std::int64_t> rows;
    for (const auto& weight : weights) rows.push_back(weight.size(0));
    return OneProduct::apply(
        x, whole, rows, weights[0], weights[1],
        weights.size() == 3 ? std::optional(weights[2]) : std::optional<at::Tensor>());
  };
  Ops ops = reference::operations(config.norm_has_bias);
  ops.qkv = [&](const at::Tensor& x, const Qkv& w) {
    const auto made = product(x, {w.q, w.k, w.v});
    return Qkv{made[0], made[1], made[2]};
  };
  ops.gate_up = [&](const at::Tensor& x, const GateUp& w) {
    const auto made = product(x, {w.gate, w.up});
    return GateUp{made[0], made[1]};
  };
  Transformer fused(config, ops, at::kCPU, at::kDouble, 7);
  fused.load(model.parameters());
  for (const Transformer* each : {&model, static_cast<const Transformer*>(&fused)}) {
    torch::autograd::backward({each->loss(each->forward(as_tensor(tokens)), as_tensor(targets))});
  }
  EXPECT_EQ(joint, config.architecture == Architecture::swiglu ? 4 : 2);
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    EXPECT_TRUE(fused.parameters()[i].tensor.grad().allclose(model.parameters()[i].tensor.grad()))
        << model.parameters()[i].name;
  }
}

BlockCalls noting(std::string& calls) {
  return {[&](int block) { calls.append("(").append(std::to_string(block)); },
          [&](int block) { calls.append(std::to_string(block)).append(")"); },
          [&](int block) { calls.append("[").append(std::to_string(block)); },
          [&](int block) { calls.append(std::to_string(block)).append("]"); }};
}

TEST_P(TransformerTest, HooksEncloseEachBlockForwardAndBackward) {
  std::string calls;
  auto model = make(at::kFloat);
  const BlockHooks hooks(noting(calls), 0);
  model.set_hooks(hooks);
  const auto loss = model.loss(model.forward(as_tensor(tokens)), as_tensor(targets));
  EXPECT_EQ(calls, "(00)(11)(22)(33)");
  calls.clear();
  hooks.backward_begins();
  torch::autograd::backward({loss});
  hooks.backward_ended();
  EXPECT_EQ(calls, "[33][22][11][00]");

  calls.clear();
  const at::NoGradGuard no_grad;
  model.forward(as_tensor(tokens));
  EXPECT_EQ(calls, "(00)(11)(22)(33)");
}

TEST_P(TransformerTest, BlocksGradientsAreCompleteBehindThem) {
  auto model = make(at::kFloat);
  const auto trained = training::trained_model(model, {});
  ASSERT_EQ(trained.blocks.size(), 4u);
  std::vector<std::string> incomplete;
  BlockCalls calls;
  calls.before_forward = calls.after_forward = calls.before_backward = [](int) {};
  calls.after_backward = [&](int block) {
    for (const std::size_t i : trained.blocks[static_cast<std::size_t>(block)].parameters) {
      const auto& [name, tensor, compute] = trained.parameters[i];
      // The tied embedding's comes with the first block that uses it.
      if (!tensor.grad().defined() && !(block == 3 && i == 0)) incomplete.push_back(name);
    }
  };
  const BlockHooks hooks(calls, 0);
  model.set_hooks(hooks);
  torch::autograd::backward({model.loss(model.forward(as_tensor(tokens)), as_tensor(targets))});
  hooks.backward_ended();
  EXPECT_EQ(incomplete, std::vector<std::string>());
}

TEST_P(TransformerTest, HooksChangeNoGradient) {
  const auto plain = make(at::kFloat);
  auto hooked = make(at::kFloat);
  std::string calls;
  hooked.set_hooks({noting(calls), 0});
  for (const auto* model : {&plain, static_cast<const Transformer*>(&hooked)}) {
    torch::autograd::backward({model->loss(model->forward(as_tensor(tokens)), as_tensor(targets))});
  }
  for (std::size_t i = 0; i < plain.parameters().size(); ++i) {
    EXPECT_TRUE(plain.parameters()[i].tensor.grad().equal(hooked.parameters()[i].tensor.grad()))
        << plain.parameters()[i].name;
  }
}

// Backward hooks begin with the first block that trains, whatever its graph needs.
TEST_P(TransformerTest, FrozenBlocksAheadHaveNoBackwardHooks) {
  std::string calls;
  auto model = make(at::kFloat);
  const auto trained = training::trained_model(model, {});
  for (const std::size_t block : {0u, 1u}) {
    for (const std::size_t i : trained.blocks[block].parameters) {
      at::Tensor(trained.parameters[i].tensor).set_requires_grad(false);
    }
  }
  EXPECT_EQ(first_trained_block(trained), 2);
  const BlockHooks hooks(noting(calls), first_trained_block(trained));
  model.set_hooks(hooks);
  const auto loss = model.loss(model.forward(as_tensor(tokens)), as_tensor(targets));
  calls.clear();
  torch::autograd::backward({loss});
  hooks.backward_ended();
  EXPECT_EQ(calls, "[33][22]");
}

TEST_P(TransformerTest, AutocastGivesLogitsInItsDtypeAndFp32Gradients) {
  const auto model = make(at::kFloat);
  at::Tensor logits, loss;
  {
    const Autocast autocast(at::kCPU, at::kBFloat16);
    logits = model.forward(as_tensor(tokens));
    loss = model.loss(logits, as_tensor(targets));
  }
  EXPECT_EQ(logits.scalar_type(), at::kBFloat16);
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  torch::autograd::backward({loss});
  for (const auto& parameter : model.parameters()) {
    EXPECT_EQ(parameter.tensor.grad().scalar_type(), at::kFloat) << parameter.name;
  }
  EXPECT_NEAR(loss.item<double>(), plain::loss(sizes, plain_parameters(model), tokens, targets),
              0.1);
}

std::string variant_name(const testing::TestParamInfo<Variant>& info) {
  return std::string(info.param.architecture == Architecture::swiglu ? "swiglu" : "gelu") +
         (info.param.layer_norm ? "_layernorm" : "_rmsnorm") +
         (info.param.kv_heads == 1 ? "_grouped" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Architectures, TransformerTest,
    testing::Values(Variant{Architecture::swiglu, false}, Variant{Architecture::swiglu, true},
                    Variant{Architecture::gelu, false}, Variant{Architecture::swiglu, false, 1},
                    Variant{Architecture::gelu, true, 1}, Variant{Architecture::gelu, true}),
    variant_name);

}  // namespace
}  // namespace assay::model
