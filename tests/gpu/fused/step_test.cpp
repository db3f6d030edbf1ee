#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <assay/reference.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <cmath>

#include "conformance/tiny_model.h"
#include "fused_here.h"
#include "gpu/device.h"
#include "measure/memory.h"
#include "plugins/support.h"

namespace assay {
namespace {

struct Trained {
  std::string architecture, precision, compile;
  bool small = false;  // the preset's sizes, else a toy's
  std::string attention = "naive";
  double max_grad_norm = 0;
};

void PrintTo(const Trained& trained, std::ostream* stream) {
  *stream << trained.architecture << ", " << trained.precision << ", " << trained.compile << ", "
          << trained.attention << (trained.small ? ", small" : "") << ", norm of gradients up to "
          << trained.max_grad_norm;
}

class GpuCapturedStep : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = test::why_no_fused(); !why.empty()) GTEST_SKIP() << why;
  }
};

class GpuFusedStep : public GpuCapturedStep, public testing::WithParamInterface<Trained> {};

struct TrainedSteps {
  std::vector<double> losses;
  std::vector<std::vector<at::Tensor>> gradients;  // of the kept steps, float64
};

// Of a larger model only some steps' gradients have room.
bool keeps_gradients(const Trained& of, int step) { return !of.small || step % 9 == 0; }

// Attention, norm and all else from the plugins; a captured variant trains three steps first.
TrainedSteps trained(const Trained& of, int skipped, int steps) {
  auto tested =
      test::make_case({"model_step", of.attention, "rmsnorm", of.precision, of.compile}, cuda);
  throw_unless_ok(tested.compile->select(tested.context.ops, {}));
  if (of.small) {
    test::set_model(tested.context, of.architecture, 2, 128, 768, 3072, 12, 12);
  } else {
    test::set_model(tested.context, of.architecture, 4, 64, 256, 512, 3, 4);
  }
  tested.context.parameters["max_grad_norm"] = of.max_grad_norm;
  const auto program = test::build(tested);
  GuardedStep step;
  throw_unless_ok(tested.compile->prepare(*program, "train_step", tested.context, step));
  TrainedSteps made;
  for (int i = 0; i < skipped + steps; ++i) {
    throw_unless_ok(step.before());
    throw_unless_ok(step.run());
    if (i < skipped) continue;
    std::vector<NamedTensor> outputs;
    throw_unless_ok(program->outputs("train_step", outputs));
    const bool keeps = keeps_gradients(of, i - skipped);
    if (keeps) made.gradients.emplace_back();
    for (const auto& [name, tensor] : outputs) {
      if (name == "loss") made.losses.push_back(tensor.item<double>());
      if (keeps && name.starts_with("grad.")) {
        made.gradients.back().push_back(tensor.to(at::kDouble));
      }
    }
  }
  return made;
}

double norm_of(const std::vector<at::Tensor>& values) {
  double squares = 0;
  for (const at::Tensor& value : values) squares += value.square().sum().item<double>();
  return std::sqrt(squares);
}

double apart(const std::vector<at::Tensor>& values, const std::vector<at::Tensor>& right) {
  std::vector<at::Tensor> off;
  for (std::size_t i = 0; i < right.size(); ++i) off.push_back(values[i] - right[i]);
  return norm_of(off) / norm_of(right);
}

// How far rounding takes a training run from eager fp32, whose differences grow from step to step:
// eager with other attentions, which round otherwise.
class Rounding {
 public:
  Rounding(const Trained& of, int skipped, int steps, const TrainedSteps& right) {
    for (const std::string attention : {"naive", "math_libtorch", "efficient_libtorch"}) {
      const auto usual =
          trained({of.architecture, of.precision, "eager", of.small, attention, of.max_grad_norm},
                  skipped, steps);
      losses_.resize(usual.losses.size());
      gradients_.resize(usual.gradients.size());
      for (std::size_t i = 0; i < losses_.size(); ++i) {
        losses_[i] = std::max(losses_[i], std::abs(usual.losses[i] - right.losses[i]));
      }
      for (std::size_t i = 0; i < gradients_.size(); ++i) {
        gradients_[i] = std::max(gradients_[i], apart(usual.gradients[i], right.gradients[i]));
      }
    }
  }

  // The most up to that step.
  double of_loss(std::size_t step) const { return most(losses_, step); }
  double of_gradients(std::size_t kept) const { return most(gradients_, kept); }

 private:
  static double most(const std::vector<double>& values, std::size_t last) {
    return *std::max_element(values.begin(),
                             values.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  }

  std::vector<double> losses_, gradients_;
};

TEST_P(GpuFusedStep, TwentyStepsFollowEagerFp32) {
  constexpr int steps = 20, warmup_steps = 3;
  const auto& [architecture, precision, compile, small, attention, limit] = GetParam();
  const bool captures = compile == "fused_graph" || compile == "cuda_graph";
  const auto mine = trained(GetParam(), captures ? 0 : warmup_steps, steps);
  const auto right =
      trained({architecture, "fp32", "eager", small, "naive", limit}, warmup_steps, steps);
  if (limit > 0) {
    EXPECT_NEAR(norm_of(right.gradients[0]), limit, 1e-3 * limit);
  }
  const Rounding rounding(GetParam(), warmup_steps, steps, right);
  const double tolerance = precision == "fp32" ? 1e-4 : 2e-2;
  // AdamW's first steps follow the signs of gradients, so that a last bit of one grows.
  const double of_gradients = precision == "fp32" ? 20 * tolerance : tolerance;
  for (std::size_t i = 0; i < right.losses.size(); ++i) {
    EXPECT_NEAR(mine.losses[i], right.losses[i],
                tolerance * right.losses[i] + 2 * rounding.of_loss(i))
        << "step " << i;
  }
  for (std::size_t i = 0; i < right.gradients.size(); ++i) {
    ASSERT_EQ(mine.gradients[i].size(), right.gradients[i].size());
    EXPECT_LE(apart(mine.gradients[i], right.gradients[i]),
              2 * rounding.of_gradients(i) + of_gradients)
        << "kept step " << i;
  }
  EXPECT_LT(mine.losses.back(), mine.losses.front());
}

INSTANTIATE_TEST_SUITE_P(
    , GpuFusedStep,
    testing::Values(
        Trained{"swiglu", "fp32", "fused"}, Trained{"swiglu", "bf16", "fused"},
        Trained{"swiglu", "fp16", "fused"}, Trained{"swiglu", "bf16", "cuda_graph"},
        Trained{"gelu", "fp32", "cuda_graph"}, Trained{"swiglu", "bf16", "fused_graph"},
        Trained{"swiglu", "fp16", "fused_graph"}, Trained{"gelu", "bf16", "fused"},
        Trained{"gelu", "bf16", "fused_graph"}, Trained{"gelu", "fp32", "fused_graph"},
        Trained{"swiglu", "fp32", "fused", false, "naive", 0.5},
        Trained{"swiglu", "fp32", "fused_graph", false, "naive", 0.5},
        Trained{"swiglu", "bf16", "cuda_graph", true}, Trained{"swiglu", "bf16", "fused", true},
        Trained{"swiglu", "bf16", "fused_graph", true},
        Trained{"swiglu", "fp32", "fused_graph", true},
        Trained{"gelu", "bf16", "fused_graph", true}, Trained{"swiglu", "fp16", "cuda_graph"},
        Trained{"gelu", "bf16", "cuda_graph"},
        Trained{"swiglu", "bf16", "fused_graph", false, "flash"},
        Trained{"swiglu", "fp32", "cuda_graph", true}, Trained{"swiglu", "fp32", "fused", true},
        Trained{"gelu", "bf16", "fused", true}, Trained{"gelu", "bf16", "cuda_graph", true},
        Trained{"swiglu", "fp32", "fused_graph", true, "naive", 0.5},
        Trained{"swiglu", "bf16", "fused_graph", true, "flash"}),
    [](const testing::TestParamInfo<Trained>& tested) {
      return tested.param.architecture + "_" + tested.param.precision + "_" + tested.param.compile +
             (tested.param.small ? "_small" : "") +
             (tested.param.attention == "naive" ? "" : "_" + tested.param.attention) +
             (tested.param.max_grad_norm > 0 ? "_limited" : "");
    });

TEST_F(GpuCapturedStep, LeavesNoMoreMemoryBehindThanEager) {
  const auto left_by = [](const std::string& compile) {
    trained({"swiglu", "bf16", compile}, 0, 1);
    c10::cuda::device_synchronize();
    return measure::allocated_bytes(cuda);
  };
  const std::int64_t eager = left_by("eager"), once = left_by("cuda_graph");
  EXPECT_LE(once, eager);
  EXPECT_EQ(left_by("cuda_graph"), once) << "each capture has a stream of its own";
}

class GpuFusedCopies : public GpuFusedStep {};

// A forward with the current parameters, whoever has changed them since the last: the test, an
// optimizer of tensor operations or that of the variant.
TEST_P(GpuFusedCopies, FollowTheWeights) {
  const auto plugin = test::load<CompileBoundary>("compile", "fused", GetParam().compile);
  CaseContext context = conformance::textbook_context(cuda);
  context.precision.autocast = at::kBFloat16;
  CaseContext plain = context;
  throw_unless_ok(plugin->select(context.ops, {}));
  conformance::TinyModel right(plain);
  auto owned = std::make_unique<conformance::TinyModel>(context);
  conformance::TinyModel& tested = *owned;
  detail::ProgramGuard program(std::move(owned));
  GuardedStep inference, training;
  throw_unless_ok(plugin->prepare(program, "train_step", context, training));
  throw_unless_ok(plugin->prepare(program, "inference", context, inference));
  tested.restart_from(right);
  for (const std::string change : {"nothing", "test", "optimizer", "test", "optimizer"}) {
    SCOPED_TRACE(change);
    if (change == "test") {
      for (auto* each : {&tested, &right}) each->scale_parameters(3);
    }
    if (change == "optimizer") {
      throw_unless_ok(training.before());
      throw_unless_ok(training.run());
      right.restart_from(tested);
    }
    throw_unless_ok(inference.before());
    throw_unless_ok(inference.run());
    right.before("inference");
    right.run("inference");
    EXPECT_LT(reference::relative_error(tested.outputs("inference").front().tensor,
                                        right.outputs("inference").front().tensor),
              1e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(, GpuFusedCopies,
                         testing::Values(Trained{"", "bf16", "fused"},
                                         Trained{"", "bf16", "fused_graph"}),
                         [](const testing::TestParamInfo<Trained>& tested) {
                           return tested.param.compile;
                         });

}  // namespace
}  // namespace assay
