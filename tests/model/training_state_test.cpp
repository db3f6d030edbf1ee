#include "model/training_state.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <thread>

#include "model/textbook_ops.h"

namespace assay::model {
namespace {

std::vector<at::Tensor> two_parameters() {
  return {at::tensor({1.0, 2.0}, at::kFloat).requires_grad_(),
          at::tensor({3.0}, at::kFloat).requires_grad_()};
}

PrecisionPolicy scaled(double initial) {
  PrecisionPolicy policy;
  policy.loss_scaling = true;
  policy.initial_loss_scale = initial;
  return policy;
}

at::Tensor square_loss(const std::vector<at::Tensor>& parameters) {
  return (parameters[0] * parameters[0]).sum() + parameters[1].sum() * 5;
}

struct Recorder {
  std::vector<OptimizerInputs> calls;
  Ops ops() {
    Ops ops;
    ops.optimizer = [this](const OptimizerInputs& in) { calls.push_back(in); };
    return ops;
  }
};

TEST(TrainingState, GradientsComeAndGo) {
  const auto parameters = two_parameters();
  TrainingState state(parameters, {}, {});
  state.backward(square_loss(parameters));
  EXPECT_TRUE(parameters[0].grad().equal(at::tensor({2.0, 4.0}, at::kFloat)));
  EXPECT_TRUE(parameters[1].grad().equal(at::tensor({5.0}, at::kFloat)));
  state.clear_gradients();
  EXPECT_FALSE(parameters[0].grad().defined());
}

TEST(TrainingState, UpdatesOwnedParametersThatHaveAGradient) {
  const auto parameters = two_parameters();
  Recorder recorder;
  TrainingState all(parameters, {}, {});
  all.backward(parameters[1].sum());
  all.step(recorder.ops());
  ASSERT_EQ(recorder.calls.size(), 1u);
  ASSERT_EQ(recorder.calls[0].parameters.size(), 1u);
  EXPECT_TRUE(recorder.calls[0].parameters[0].is_same(parameters[1]));

  TrainingState first_only(parameters, {0}, {});
  first_only.clear_gradients();
  first_only.backward(square_loss(parameters));
  first_only.step(recorder.ops());
  ASSERT_EQ(recorder.calls.size(), 2u);
  ASSERT_EQ(recorder.calls[1].parameters.size(), 1u);
  EXPECT_TRUE(recorder.calls[1].parameters[0].is_same(parameters[0]));
}

TEST(TrainingState, HandsTheLimitAndTheCopiesOfOwnedParametersToTheOptimizer) {
  const auto parameters = two_parameters();
  Recorder recorder;
  TrainingState state(parameters, {1}, {}, {.max_grad_norm = 2.5});
  const auto copy = at::zeros({1}, at::kBFloat16);
  state.keep_copies({at::zeros({2}, at::kBFloat16), copy});
  state.backward(square_loss(parameters));
  state.step(recorder.ops());
  ASSERT_EQ(recorder.calls.size(), 1u);
  EXPECT_EQ(recorder.calls[0].max_grad_norm, 2.5);
  ASSERT_EQ(recorder.calls[0].low_precision.size(), 1u);
  EXPECT_TRUE(recorder.calls[0].low_precision[0].is_same(copy));
}

TEST(TrainingState, AStepLowersTheLoss) {
  const auto parameters = two_parameters();
  TrainingState state(parameters, {}, {}, {.learning_rate = 0.1});
  const auto ops = textbook_ops();
  const double before = square_loss(parameters).item<double>();
  for (int i = 0; i < 3; ++i) {
    state.clear_gradients();
    state.backward(square_loss(parameters));
    state.step(ops);
  }
  EXPECT_LT(square_loss(parameters).item<double>(), before);
}

TEST(LossScaling, TheOptimizerSeesUnscaledGradients) {
  const auto parameters = two_parameters();
  TrainingState state(parameters, {}, scaled(1024));
  state.backward(square_loss(parameters));
  EXPECT_TRUE(parameters[0].grad().equal(at::tensor({2048.0, 4096.0}, at::kFloat)));
  Recorder recorder;
  state.step(recorder.ops());
  EXPECT_TRUE(recorder.calls[0].gradients[0].equal(at::tensor({2.0, 4.0}, at::kFloat)));
  EXPECT_EQ(recorder.calls[0].found_inf.item<float>(), 0);
  EXPECT_EQ(state.loss_scale(), 1024);
}

TEST(LossScaling, AnOverflowHalvesTheScaleAndChangesNothing) {
  const auto parameters = two_parameters();
  TrainingState state(parameters, {}, scaled(1024));
  const auto before = parameters[0].detach().clone();
  state.backward(square_loss(parameters) * 1e38);  // 1e38 · 1024 is beyond fp32
  state.step(textbook_ops());
  EXPECT_TRUE(parameters[0].equal(before));
  EXPECT_EQ(state.loss_scale(), 512);

  state.clear_gradients();
  state.backward(square_loss(parameters));
  state.step(textbook_ops());
  EXPECT_FALSE(parameters[0].equal(before));
  EXPECT_EQ(state.loss_scale(), 512);
}

TEST(LossScaling, TwoThousandGoodStepsDoubleTheScale) {
  const auto parameters = two_parameters();
  TrainingState state(parameters, {}, scaled(8));
  Recorder recorder;
  state.backward(square_loss(parameters));
  for (int i = 0; i < 1999; ++i) state.step(recorder.ops());
  EXPECT_EQ(state.loss_scale(), 8);
  state.step(recorder.ops());
  EXPECT_EQ(state.loss_scale(), 16);
}

TEST(LossScaling, ScaledTrainingIsUnscaledTraining) {
  const auto plain = two_parameters();
  const auto with_scale = two_parameters();
  TrainingState plain_state(plain, {}, {});
  TrainingState scaled_state(with_scale, {}, scaled(4096));
  const auto ops = textbook_ops();
  for (int i = 0; i < 5; ++i) {
    plain_state.clear_gradients();
    plain_state.backward(square_loss(plain));
    plain_state.step(ops);
    scaled_state.clear_gradients();
    scaled_state.backward(square_loss(with_scale));
    scaled_state.step(ops);
  }
  EXPECT_TRUE(plain[0].equal(with_scale[0]));
  EXPECT_TRUE(plain[1].equal(with_scale[1]));
}

TEST(TrainingState, ResetTrainsAsIfNew) {
  const auto parameters = two_parameters();
  TrainingState state(parameters, {}, scaled(64));
  const auto initial = parameters[0].detach().clone();
  const auto step = [&](double factor) {
    state.clear_gradients();
    state.backward(square_loss(parameters) * factor);
    state.step(textbook_ops());
    return parameters[0].detach().clone();
  };
  const auto first = step(1);
  step(1e38);  // halves the scale
  {
    const at::NoGradGuard no_grad;
    at::Tensor(parameters[0]).copy_(initial);
  }
  state.reset();
  EXPECT_EQ(state.loss_scale(), 64);
  EXPECT_TRUE(step(1).equal(first));
}

TEST(TrainingState, TellsEachReadyGradientOnTheCallingThread) {
  const auto parameters = two_parameters();
  std::vector<std::size_t> ready;
  {
    TrainingState state(parameters, {}, {});
    const auto caller = std::this_thread::get_id();
    state.on_gradient_ready([&](std::size_t parameter) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_TRUE(parameters[parameter].grad().defined());
      ready.push_back(parameter);
    });
    state.backward(square_loss(parameters));
  }
  std::sort(ready.begin(), ready.end());
  EXPECT_EQ(ready, (std::vector<std::size_t>{0, 1}));

  TrainingState other(parameters, {}, {});
  other.backward(square_loss(parameters));
  EXPECT_EQ(ready.size(), 2u) << "hooks outlived their training state";
}

}  // namespace
}  // namespace assay::model
