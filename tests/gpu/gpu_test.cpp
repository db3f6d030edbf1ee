#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <assay/reference.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <thread>

#include "device.h"
#include "model/random.h"
#include "plugins/attention/attention_inputs.h"
#include "plugins/support.h"
#include "training/training_state.h"

namespace assay {
namespace {

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
  }
};

const test::AttentionShape shapes[] = {{1, 1, 128, 128, 16},   {2, 3, 257, 257, 64},
                                       {1, 2, 1009, 1009, 80}, {2, 2, 512, 512, 128},
                                       {1, 1, 2048, 2048, 32}, {1, 2, 64, 320, 64}};

class GpuAttention : public Gpu,
                     public testing::WithParamInterface<std::tuple<std::string, at::ScalarType>> {};

TEST_P(GpuAttention, ForwardAndGradientsAgreeWithFloat64) {
  const auto& [variant, dtype] = GetParam();
  const auto plugin = test::attention(variant);
  PrecisionPolicy policy;
  policy.parameters = dtype;
  const double tolerance = reference::tolerance(policy);
  int compared = 0;
  for (const auto& shape : shapes) {
    for (const bool causal : {true, false}) {
      SCOPED_TRACE(testing::Message()
                   << shape.batch << "x" << shape.heads << "x" << shape.seq_q << "x" << shape.seq_k
                   << "x" << shape.d_head << (causal ? " causal" : " full"));
      const auto in = test::attention_inputs(shape, dtype, causal, test::Layout::heads_last, cuda);
      std::optional<std::string> reason;
      throw_unless_ok(plugin->unsupported(in, reason));
      if (reason) continue;
      at::Tensor out;
      throw_unless_ok(plugin->forward(in, out));
      const auto dout =
          at::randn(out.sizes(), model::seeded_generator(cuda, 18), out.options().dtype(at::kFloat))
              .to(dtype);
      torch::autograd::backward({out}, {dout});
      const auto reference = reference::attention(in, dout);
      EXPECT_LT(reference::relative_error(out, reference.out), tolerance);
      EXPECT_LT(reference::relative_error(in.q.grad(), reference.dq), 2 * tolerance);
      EXPECT_LT(reference::relative_error(in.k.grad(), reference.dk), 2 * tolerance);
      EXPECT_LT(reference::relative_error(in.v.grad(), reference.dv), 2 * tolerance);
      ++compared;
    }
  }
  const bool half = dtype != at::kFloat;
  const bool takes =
      half || variant == "naive" || variant == "math_libtorch" || variant == "efficient_libtorch";
  EXPECT_EQ(compared > 0, takes);
}

std::string gpu_attention_name(
    const testing::TestParamInfo<std::tuple<std::string, at::ScalarType>>& tested) {
  return std::get<0>(tested.param) + "_" + c10::toString(std::get<1>(tested.param));
}

INSTANTIATE_TEST_SUITE_P(All, GpuAttention,
                         testing::Combine(testing::Values("naive", "math_libtorch",
                                                          "efficient_libtorch", "flash_libtorch",
                                                          "cudnn_libtorch"),
                                          testing::Values(at::kFloat, at::kHalf, at::kBFloat16)),
                         gpu_attention_name);

struct Captured {
  std::string architecture, precision, attention;
  std::string compile = "cuda_graph";
};

class GpuCapture : public Gpu, public testing::WithParamInterface<Captured> {
 protected:
  void SetUp() override {
    Gpu::SetUp();
#ifndef ASSAY_TEST_KERNELS
    if (GetParam().compile == "fused_graph") GTEST_SKIP() << "built without nvcc: there is none";
#endif
  }
};

// With the operations that the compile variant selects.
test::Case case_with(const test::CaseNames& names) {
  test::Case tested = test::make_case(names, cuda);
  throw_unless_ok(tested.compile->select(tested.context.ops, {}));
  return tested;
}

std::vector<double> train(const test::Case& tested, int skipped, int steps) {
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(tested.workload->build(tested.context, program));
  GuardedStep step;
  throw_unless_ok(tested.compile->prepare(*program, "train_step", tested.context, step));
  std::vector<double> losses;
  for (int i = 0; i < skipped + steps; ++i) {
    throw_unless_ok(step.before());
    throw_unless_ok(step.run());
    std::vector<NamedTensor> outputs;
    throw_unless_ok(program->outputs("train_step", outputs));
    if (i >= skipped) losses.push_back(outputs.front().tensor.item<double>());
  }
  return losses;
}

// Three steps are trained before the captured one is returned.
constexpr int warmup_steps = 3;

TEST_P(GpuCapture, TrainsAsEagerDoes) {
  const auto& [architecture, precision, attention, captured] = GetParam();
  std::vector<double> losses[2];
  for (const std::string& compile : {std::string("eager"), captured}) {
    auto tested = case_with({"model_step", attention, "rmsnorm", precision, compile});
    test::set_model(tested.context, architecture, 4, 64, 256, 512, 3, 4);
    const bool eager = compile == "eager";
    losses[eager ? 0 : 1] = train(tested, eager ? warmup_steps : 0, 5);
  }
  // Own kernels round less often than 16-bit operations one by one.
  const double tolerance = captured == "fused_graph" && precision != "fp32" ? 5e-3 : 1e-4;
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(losses[1][i], losses[0][i], tolerance * losses[0][i]) << "step " << i;
  }
  EXPECT_LT(losses[0].back(), losses[0].front());
}

TEST_P(GpuCapture, EveryPassIsVerified) {
  const auto& [architecture, precision, attention, captured] = GetParam();
  auto tested = case_with({"model_step", attention, "rmsnorm", precision, captured});
  test::set_model(tested.context, architecture, 4, 64, 256, 512, 3, 4);
  for (const char* pass : {"inference", "forward", "backward", "forward_backward", "train_step"}) {
    Verification verification;
    throw_unless_ok(tested.workload->verify(tested.context, pass, verification));
    EXPECT_LE(verification.error, verification.tolerance) << pass << ": " << verification.worst;
  }
}

TEST_P(GpuCapture, ATrainStepLeavesLimitedGradients) {
  const auto& [architecture, precision, attention, captured] = GetParam();
  auto tested = case_with({"model_step", attention, "rmsnorm", precision, captured});
  test::set_model(tested.context, architecture, 4, 64, 256, 512, 3, 4);
  tested.context.parameters["max_grad_norm"] = 0.01;
  const auto verification = test::verify(tested, "train_step");
  EXPECT_LE(verification.error, verification.tolerance) << verification.worst;
}

std::string captured_name(const testing::TestParamInfo<Captured>& tested) {
  const auto& [architecture, precision, attention, captured] = tested.param;
  return architecture + "_" + precision + "_" + attention + "_" + captured;
}

INSTANTIATE_TEST_SUITE_P(Both, GpuCapture,
                         testing::Values(Captured{"swiglu", "fp32", "naive"},
                                         Captured{"gelu", "fp32", "efficient_libtorch"},
                                         Captured{"swiglu", "bf16", "flash_libtorch"},
                                         Captured{"gelu", "bf16", "cudnn_libtorch"},
                                         Captured{"swiglu", "fp16", "naive"},
                                         Captured{"swiglu", "bf16_master", "naive"},
                                         Captured{"gelu", "fp16_master", "naive"},
                                         Captured{"swiglu", "fp32", "naive", "fused_graph"},
                                         Captured{"gelu", "bf16", "flash_libtorch", "fused_graph"},
                                         Captured{"swiglu", "fp16", "naive", "fused_graph"},
                                         Captured{"swiglu", "bf16_master", "naive", "fused_graph"},
                                         Captured{"gelu", "fp16_master", "naive", "fused_graph"}),
                         captured_name);

TEST_F(Gpu, ACaptureThatFailsLeavesTheDeviceUsable) {
  auto tested = test::make_case({"model_step", "naive", "rmsnorm", "fp32", "cuda_graph"}, cuda);
  test::set_model(tested.context, "swiglu", 2, 16);
  int calls = 0;
  const auto attention = tested.context.ops.attention;
  tested.context.ops.attention = [&](const AttentionInputs& in) {
    // Three warm-up calls of two blocks; the seventh is the first to be captured.
    if (++calls == 7) throw std::runtime_error("not while capturing");
    return attention(in);
  };
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(tested.workload->build(tested.context, program));
  GuardedStep step;
  const Status status = tested.compile->prepare(*program, "forward", tested.context, step);
  EXPECT_EQ(status.outcome, Outcome::error);
  EXPECT_EQ(status.reason, "not while capturing");

  const auto sum = at::ones({1000}, at::TensorOptions().device(cuda)).sum();
  EXPECT_EQ(sum.item<float>(), 1000);
  EXPECT_TRUE(tested.compile->prepare(*program, "forward", tested.context, step).ok());
}

// By default autograd runs a GPU's backward on a thread of its own.
TEST_F(Gpu, GradientsBecomeReadyOnTheCallingThread) {
  const std::vector<at::Tensor> parameters = {
      at::ones({4}, at::TensorOptions().device(cuda)).requires_grad_()};
  training::TrainingState state(parameters, {});
  std::thread::id thread;
  state.on_gradient_ready([&](std::size_t) { thread = std::this_thread::get_id(); });
  state.backward(parameters[0].sum());
  EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST_F(Gpu, MoreMemoryThanThereIsIsOutOfMemory) {
  const Status status =
      guarded([] { at::empty({std::int64_t{1} << 50}, at::TensorOptions().device(cuda)); });
  EXPECT_EQ(status.outcome, Outcome::oom) << status.reason;
}

TEST_F(Gpu, NewMemoryHoldsNanWhileVerifying) {
  auto tested = test::make_case({"attention", "naive", "rmsnorm", "fp32"}, cuda);
  tested.context.parameters = {{"batch", std::int64_t{1}},
                               {"heads", std::int64_t{4}},
                               {"seq_len", std::int64_t{512}},
                               {"d_head", std::int64_t{64}},
                               {"kv_heads", std::int64_t{0}},
                               {"window", std::int64_t{0}},
                               {"causal", true}};
  tested.context.ops.attention = [](const AttentionInputs& in) {
    return in.q * 0 + at::empty_like(in.q.detach());
  };
  Verification verification;
  throw_unless_ok(tested.workload->verify(tested.context, "forward", verification));
  EXPECT_EQ(verification.error, INFINITY);
}

}  // namespace
}  // namespace assay
