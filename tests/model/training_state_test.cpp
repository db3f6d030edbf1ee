#include "training/training_state.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <assay/communication.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "model/textbook_ops.h"

namespace assay::training {
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
  TrainingState state(parameters, {});
  state.backward(square_loss(parameters));
  EXPECT_TRUE(parameters[0].grad().equal(at::tensor({2.0, 4.0}, at::kFloat)));
  EXPECT_TRUE(parameters[1].grad().equal(at::tensor({5.0}, at::kFloat)));
  state.clear_gradients();
  EXPECT_FALSE(parameters[0].grad().defined());
}

TEST(TrainingState, UpdatesParametersThatHaveAGradient) {
  const auto parameters = two_parameters();
  Recorder recorder;
  TrainingState all(parameters, {});
  all.backward(parameters[1].sum());
  all.step(recorder.ops());
  ASSERT_EQ(recorder.calls.size(), 1u);
  ASSERT_EQ(recorder.calls[0].parameters.size(), 1u);
  EXPECT_TRUE(recorder.calls[0].parameters[0].is_same(parameters[1]));
}

// Two ranks' worth of one flat buffer: this rank updates its first three elements.
class HalfOfEverything final : public Communication {
 public:
  explicit HalfOfEverything(double others, at::ScalarType dtype)
      : others_(others), own_(at::tensor({1.0, 2.0, 3.0}, at::kFloat).to(dtype)) {
    own_.mutable_grad() = at::zeros({3}, dtype);
  }

  void attach(const TrainedModel&, const Mesh&, TraceHandle) override {}
  std::optional<std::vector<Slice>> slices() override {
    return {{{.values = own_,
              .pieces = {{0, 0, 2, 0}, {1, 0, 1, 2}},
              .buffer = "flat",
              .low_precision = low_precision},
             {.values = frozen_, .buffer = "frozen", .frozen = true}}};
  }
  // What the other rank adds.
  void sum_over_owners(at::Tensor& value) override { value.add_(others_); }
  void clear_gradients() override { own_.mutable_grad().zero_(); }
  bool keeps_gradients() const override { return true; }

  at::Tensor own() const { return own_; }

  const at::Tensor low_precision = at::zeros({3}, at::kBFloat16);

 private:
  double others_;
  at::Tensor own_;
  at::Tensor frozen_ = at::ones({4}, at::kFloat);
};

struct Sharded {
  explicit Sharded(double others, PrecisionPolicy policy = {}, AdamWSettings settings = {})
      : shards(std::make_shared<HalfOfEverything>(others, policy.parameters)),
        guard(shards),
        state(two_parameters(), policy, &guard, settings) {}

  std::shared_ptr<HalfOfEverything> shards;
  detail::CommunicationGuard guard;
  TrainingState state;
};

TEST(TrainingState, UpdatesTheSlicesThatARankOwns) {
  Sharded sharded(0);
  const auto gradient = sharded.shards->own().grad();
  gradient.copy_(at::tensor({2.0, 0.0, 1.0}, at::kFloat));
  Recorder recorder;
  sharded.state.step(recorder.ops());
  ASSERT_EQ(recorder.calls.size(), 1u);
  ASSERT_EQ(recorder.calls[0].parameters.size(), 1u) << "the frozen slice takes no part";
  EXPECT_TRUE(recorder.calls[0].parameters[0].is_same(sharded.shards->own()));
  EXPECT_TRUE(recorder.calls[0].gradients[0].is_same(gradient));
  EXPECT_EQ(recorder.calls[0].first_moments[0].sizes(), at::IntArrayRef({3}));
}

TEST(TrainingState, ASlicesLowPrecisionValuesFollowIt) {
  Sharded sharded(0);
  sharded.shards->own().mutable_grad().fill_(1);
  sharded.state.step(model::textbook_ops());
  EXPECT_TRUE(sharded.shards->low_precision.equal(sharded.shards->own().to(at::kBFloat16)));
}

TEST(TrainingState, GradientsThatAVariantKeepsAreClearedWhereTheyLie) {
  Sharded sharded(0);
  sharded.shards->own().mutable_grad().fill_(7);
  const void* place = sharded.shards->own().grad().const_data_ptr();
  sharded.state.clear_gradients();
  EXPECT_EQ(sharded.shards->own().grad().const_data_ptr(), place);
  EXPECT_TRUE(sharded.shards->own().grad().equal(at::zeros({3}, at::kFloat)));
}

// 1² + 2² + 2² = 9 here and 16 on the other rank.
TEST(TrainingState, TheGradientNormIsThatOfAllRanks) {
  Sharded sharded(16);
  sharded.shards->own().mutable_grad().copy_(at::tensor({1.0, 2.0, 2.0}, at::kFloat));
  EXPECT_FLOAT_EQ(sharded.state.gradient_norm().item<float>(), 5);

  const auto parameters = two_parameters();
  TrainingState whole(parameters, {});
  parameters[0].mutable_grad() = at::tensor({3.0, 4.0}, at::kFloat);
  EXPECT_FLOAT_EQ(whole.gradient_norm().item<float>(), 5);
}

TEST(TrainingState, HandsTheLimitAndTheCopiesOfOwnedParametersToTheOptimizer) {
  const auto parameters = two_parameters();
  Recorder recorder;
  parameters[0].set_requires_grad(false);
  TrainingState state(parameters, {}, nullptr, {.max_grad_norm = 2.5});
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
  TrainingState state(parameters, {}, nullptr, {.learning_rate = 0.1});
  const auto ops = model::textbook_ops();
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
  TrainingState state(parameters, scaled(1024));
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
  TrainingState state(parameters, scaled(1024));
  const auto before = parameters[0].detach().clone();
  state.backward(square_loss(parameters) * 1e38);  // 1e38 · 1024 is beyond fp32
  state.step(model::textbook_ops());
  EXPECT_TRUE(parameters[0].equal(before));
  EXPECT_EQ(state.loss_scale(), 512);
  EXPECT_EQ(state.skipped_steps(), 1);

  state.clear_gradients();
  state.backward(square_loss(parameters));
  state.step(model::textbook_ops());
  EXPECT_FALSE(parameters[0].equal(before));
  EXPECT_EQ(state.loss_scale(), 512);
  EXPECT_EQ(state.skipped_steps(), 1);
  state.reset();
  EXPECT_EQ(state.skipped_steps(), 0);
}

TEST(LossScaling, TheScaleGrowsAfterThePolicysNumberOfGoodSteps) {
  const auto parameters = two_parameters();
  PrecisionPolicy policy = scaled(8);
  policy.loss_scale_growth_interval = 3;
  TrainingState state(parameters, policy);
  Recorder recorder;
  state.backward(square_loss(parameters));
  for (int i = 0; i < 5; ++i) state.step(recorder.ops());
  EXPECT_EQ(state.loss_scale(), 16);
  EXPECT_EQ(state.skipped_steps(), 0);
}

TEST(LossScaling, AnOverflowOnAnotherRankSkipsTheStepHere) {
  Sharded sharded(1, scaled(64));
  const auto before = sharded.shards->own().detach().clone();
  sharded.shards->own().mutable_grad().fill_(1);
  sharded.state.step(model::textbook_ops());
  EXPECT_TRUE(sharded.shards->own().equal(before));
  EXPECT_EQ(sharded.state.loss_scale(), 32);
}

TEST(LossScaling, TwoThousandGoodStepsDoubleTheScale) {
  const auto parameters = two_parameters();
  TrainingState state(parameters, scaled(8));
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
  TrainingState plain_state(plain, {});
  TrainingState scaled_state(with_scale, scaled(4096));
  const auto ops = model::textbook_ops();
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
  TrainingState state(parameters, scaled(64));
  const auto initial = parameters[0].detach().clone();
  const auto step = [&](double factor) {
    state.clear_gradients();
    state.backward(square_loss(parameters) * factor);
    state.step(model::textbook_ops());
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

PrecisionPolicy bf16_weights(bool master) {
  PrecisionPolicy policy;
  policy.parameters = at::kBFloat16;
  policy.fp32_master = master;
  return policy;
}

// An update of 0.001 is less than half of 2⁻⁸, the distance from 1 to the bf16 below it.
TEST(MasterCopies, KeepUpdatesThatTheParametersLose) {
  for (const bool master : {false, true}) {
    const auto parameter = at::ones({1}, at::kBFloat16).requires_grad_();
    TrainingState state({parameter}, bf16_weights(master), nullptr,
                        {.learning_rate = 1e-3, .weight_decay = 0});
    for (int i = 0; i < 50; ++i) {
      state.clear_gradients();
      state.backward(parameter.sum());
      state.step(model::textbook_ops());
    }
    // 50 updates of the learning rate, since the gradient is always 1; bf16's spacing is 2⁻⁸ there.
    EXPECT_NEAR(parameter.item<double>(), master ? 0.95 : 1, master ? 0.002 : 0);
  }
}

// Each step begins with moments of zero, so that it moves by the learning rate again.
TEST(MasterCopies, StayWhereMomentsAreDropped) {
  const auto parameter = at::ones({1}, at::kBFloat16).requires_grad_();
  TrainingState state({parameter}, bf16_weights(/*master=*/true), nullptr,
                      {.learning_rate = 1e-3, .weight_decay = 0});
  for (int i = 0; i < 50; ++i) {
    state.clear_gradients();
    state.backward(parameter.sum());
    state.step(model::textbook_ops());
    state.drop_moments();
  }
  EXPECT_NEAR(parameter.item<double>(), 0.95, 0.002);
  EXPECT_EQ(state.optimizer_state().size(), 1u);
}

TEST(MasterCopies, AreWhatTheOptimizerUpdatesWithTheGradientsThereAre) {
  const auto parameter = at::tensor({1.0, 2.0}, at::kFloat).to(at::kBFloat16).requires_grad_();
  const auto wide = at::tensor({3.0}, at::kFloat).requires_grad_();
  TrainingState state({parameter, wide}, bf16_weights(true));
  state.backward((parameter * 3).sum().to(at::kFloat) + wide.sum());
  Recorder recorder;
  state.step(recorder.ops());
  const OptimizerInputs& in = recorder.calls.at(0);
  EXPECT_TRUE(in.parameters[0].equal(at::tensor({1.0, 2.0}, at::kFloat)));
  EXPECT_TRUE(in.gradients[0].is_same(parameter.grad())) << "no copy of it in fp32";
  EXPECT_EQ(in.first_moments[0].scalar_type(), at::kFloat);
  EXPECT_EQ(in.low_precision[0].const_data_ptr(), parameter.const_data_ptr());
  EXPECT_TRUE(in.parameters[1].is_same(wide)) << "it is fp32 already";
  EXPECT_FALSE(in.low_precision[1].defined());
}

TEST(MasterCopies, AreUpdatedWithGradientsInFp32WhereTheLossIsScaled) {
  const auto parameter = at::ones({1}, at::kHalf).requires_grad_();
  PrecisionPolicy policy = scaled(1024);
  policy.parameters = at::kHalf;
  policy.fp32_master = true;
  TrainingState state({parameter}, policy);
  // 2⁻³⁰ is zero in fp16; 2⁻²⁰, as which it arrives, is not.
  state.backward((parameter.to(at::kFloat) * std::exp2(-30)).sum());
  Recorder recorder;
  state.step(recorder.ops());
  const at::Tensor gradient = recorder.calls.at(0).gradients[0];
  EXPECT_EQ(gradient.scalar_type(), at::kFloat);
  EXPECT_EQ(gradient.item<double>(), std::exp2(-30));
}

TEST(MasterCopies, OfSlicesLeaveGradientsWhereTheVariantKeepsThem) {
  PrecisionPolicy policy = bf16_weights(true);
  policy.loss_scaling = true;
  policy.initial_loss_scale = 64;
  Sharded sharded(0, policy);
  const auto own = sharded.shards->own();
  own.mutable_grad().fill_(64);
  const void* place = own.grad().const_data_ptr();
  sharded.state.step(model::textbook_ops());
  EXPECT_EQ(own.grad().const_data_ptr(), place);
  EXPECT_TRUE(own.grad().equal(at::ones({3}, at::kBFloat16)));
  EXPECT_TRUE(sharded.shards->low_precision.equal(own));
  // One update of 0.001 is within half of the spacing; eight are not.
  EXPECT_EQ(own[2].item<double>(), 3);
  for (int i = 0; i < 9; ++i) {
    own.mutable_grad().fill_(64);
    sharded.state.step(model::textbook_ops());
  }
  EXPECT_LT(own[2].item<double>(), 3);
}

// A norm of 3, limited to 1.5.
TEST(MasterCopies, LimitTheGradientsThatAVariantKeeps) {
  PrecisionPolicy policy = bf16_weights(true);
  policy.loss_scaling = true;
  policy.initial_loss_scale = 64;
  Sharded sharded(0, policy, {.max_grad_norm = 1.5});
  const at::Tensor gradient = sharded.shards->own().grad();
  gradient.copy_(at::tensor({128.0, 128.0, 64.0}));
  sharded.state.step(model::textbook_ops());
  EXPECT_TRUE(gradient.equal(at::tensor({1.0, 1.0, 0.5}).to(at::kBFloat16)));
}

TEST(MasterCopies, BeginAgainFromTheParametersAfterAReset) {
  const auto parameter = at::ones({1}, at::kBFloat16).requires_grad_();
  TrainingState state({parameter}, bf16_weights(true));
  Recorder recorder;
  state.backward(parameter.sum());
  state.step(model::textbook_ops());
  {
    const at::NoGradGuard no_grad;
    at::Tensor(parameter).fill_(4);
  }
  state.reset();
  state.step(recorder.ops());
  EXPECT_EQ(recorder.calls.at(0).parameters[0].item<double>(), 4);
}

TEST(TrainingState, TellsEachReadyGradientOnTheCallingThread) {
  const auto parameters = two_parameters();
  std::vector<std::size_t> ready;
  {
    TrainingState state(parameters, {});
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

  TrainingState other(parameters, {});
  other.backward(square_loss(parameters));
  EXPECT_EQ(ready.size(), 2u) << "hooks outlived their training state";
}

}  // namespace
}  // namespace assay::training
