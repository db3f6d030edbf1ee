#include "model/checkpoint.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <assay/reference.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>

#include "measure/memory.h"
#include "model/autocast.h"
#include "model/random.h"
#include "model/transformer.h"

namespace assay::model {
namespace {

ModelConfig config_of(Architecture architecture) {
  ModelConfig config;
  config.architecture = architecture;
  config.d_model = 16;
  config.d_ff = 40;
  config.layers = 5;
  config.heads = 2;
  config.kv_heads = 2;
  config.vocab_size = 31;
  config.context = 64;
  return config;
}

struct Setup {
  Architecture architecture;
  int every;
  std::optional<at::ScalarType> autocast = {};
};

// Of one step: the gradients in the parameters' order, and the loss behind them.
std::vector<at::Tensor> step(const Setup& setup, BlockHooks hooks = {}) {
  const auto config = config_of(setup.architecture);
  Transformer model(config, reference::operations(false), at::kCPU, at::kFloat, 7);
  model.set_hooks(hooks);
  model.set_checkpoint_every(setup.every);
  const auto tokens = random_tokens({2, 24}, config.vocab_size, at::kCPU, 3);
  const auto targets = random_tokens({2, 24}, config.vocab_size, at::kCPU, 4);
  at::Tensor loss;
  {
    const Autocast autocast(at::kCPU, setup.autocast);
    loss = model.loss(model.forward(tokens), targets);
  }
  hooks.backward_begins();
  torch::autograd::backward({loss});
  hooks.backward_ended();
  std::vector<at::Tensor> results;
  for (const at::Tensor& parameter : model.parameter_tensors()) {
    EXPECT_TRUE(parameter.grad().defined());
    results.push_back(parameter.grad());
  }
  results.push_back(loss.detach());
  return results;
}

void expect_equal(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(found[i].equal(expected[i])) << "tensor " << i;
  }
}

// Groups that divide the five layers, that do not, and one of all of them and more.
TEST(Checkpoint, GivesTheVeryGradients) {
  for (const auto architecture : {Architecture::swiglu, Architecture::gelu}) {
    for (const auto autocast : {std::optional<at::ScalarType>(), std::optional(at::kBFloat16)}) {
      const auto expected = step({architecture, 0, autocast});
      for (const int every : {1, 2, 4, 5, 8}) {
        SCOPED_TRACE(every);
        expect_equal(step({architecture, every, autocast}), expected);
      }
    }
  }
}

// A block's forward comes again within its backward.
TEST(Checkpoint, OfOneLayerKeepsTheHooks) {
  std::string calls;
  const BlockCalls noting = {[&](int b) { calls += "(" + std::to_string(b); },
                             [&](int b) { calls += std::to_string(b) + ")"; },
                             [&](int b) { calls += "[" + std::to_string(b); },
                             [&](int b) { calls += std::to_string(b) + "]"; }};
  const auto found = step({Architecture::swiglu, 1}, {noting, 0});
  EXPECT_EQ(calls,
            "(00)(11)(22)(33)(44)(55)(66)"
            "[66][5(55)5][4(44)4][3(33)3][2(22)2][1(11)1][00]");
  expect_equal(found, step({Architecture::swiglu, 0}));
  EXPECT_THROW(step({Architecture::swiglu, 2}, {noting, 0}), c10::ValueError);
}

// y = tanh(tanh(… x)) of eight parts: 8 kept outputs, or of every part its input alone.
at::Tensor eight_parts(at::Tensor x, bool checkpoints) {
  const auto part = [](std::vector<at::Tensor> in, bool) {
    at::Tensor y = std::move(in[0]);
    for (int i = 0; i < 4; ++i) y = y.tanh();
    return std::vector<at::Tensor>{y};
  };
  for (int i = 0; i < 8; ++i) {
    std::vector<at::Tensor> in = {std::move(x)};
    x = checkpoints ? checkpointed(std::move(in), part)[0] : part(std::move(in), false)[0];
  }
  return x;
}

TEST(Checkpoint, HoldsInputsAloneAndFreesThem) {
  const measure::CpuMemoryScope counted;
  const at::Tensor x = at::ones({1000}).requires_grad_();
  constexpr std::int64_t one = 4000;
  for (const bool checkpoints : {false, true}) {
    const std::int64_t before = measure::allocated_bytes(at::kCPU);
    at::Tensor y = eight_parts(x, checkpoints);
    EXPECT_EQ(measure::allocated_bytes(at::kCPU) - before, (checkpoints ? 8 : 32) * one);
    const auto gradient = at::ones({1000});
    const auto use =
        measure::observe_memory(at::kCPU, [&] { torch::autograd::backward({y}, {gradient}); });
    y.reset();
    // Beside its beginning: the four outputs of a part, and gradients.
    if (checkpoints) {
      EXPECT_LE(use.peak_bytes - use.before_bytes, 8 * one);
    }
    x.mutable_grad().reset();
    EXPECT_LE(measure::allocated_bytes(at::kCPU) - before, one) << "the gradient given to it";
  }
}

TEST(Checkpoint, ASecondBackwardNeedsAKeptGraph) {
  const at::Tensor x = at::ones({10}).requires_grad_();
  const auto gradient = at::ones({10});
  const at::Tensor once = eight_parts(x, true);
  torch::autograd::backward({once}, {gradient});
  try {
    torch::autograd::backward({once}, {gradient});
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("through the graph a second time"), std::string::npos)
        << error.what();
  }

  x.mutable_grad().reset();
  const at::Tensor kept = eight_parts(x, true);
  torch::autograd::backward({kept}, {gradient}, /*retain_graph=*/true);
  const at::Tensor of_one = x.grad().clone();
  torch::autograd::backward({kept}, {gradient});
  EXPECT_TRUE(x.grad().equal(of_one + of_one));
}

TEST(Checkpoint, TakesUndefinedInputsAndThoseWithoutGradients) {
  const at::Tensor weight = at::ones({3}).requires_grad_(), plain = at::ones({3}) * 2;
  const auto part = [weight](std::vector<at::Tensor> in, bool) {
    EXPECT_FALSE(in[0].defined());
    return std::vector<at::Tensor>{at::Tensor(), in[1] * weight};
  };
  const auto out = checkpointed({at::Tensor(), plain}, part);
  EXPECT_FALSE(out[0].defined());
  torch::autograd::backward({out[1].sum()});
  EXPECT_TRUE(weight.grad().equal(plain));
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(checkpointed({at::Tensor(), plain}, part)[1].requires_grad());
}

}  // namespace
}  // namespace assay::model
