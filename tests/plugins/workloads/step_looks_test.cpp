// What a look at a training step sees of its optimizer: an honest one passes in every precision,
// one that leaves something out does not.

#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

#include "plugins/support.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> precisions = {"fp32", "bf16",        "bf16_master",
                                             "fp16", "fp16_master", "bf16_alone"};

test::Case case_of(const std::string& workload, const std::string& precision) {
  auto tested = test::make_case({workload, "naive", "rmsnorm", precision});
  if (workload == "model_step") {
    test::set_model(tested.context, "swiglu", 3, 16);
  } else {
    tested.context.parameters = {{"width", test::integer(40)}, {"batch", test::integer(7)}};
  }
  tested.context.precision.initial_loss_scale = 1024;
  return tested;
}

// The fourth step, which is looked at as the second is.
Verification fourth_step(const test::Case& tested) {
  const auto program = test::build(tested);
  Verification found;
  for (int step = 1; step <= 4; ++step) {
    if (step % 2 == 0) throw_unless_ok(program->expect_look("train_step"));
    test::call_once(tested, *program, "train_step");
    if (step % 2 != 0) continue;
    found = {};
    throw_unless_ok(program->look("train_step", {.seed = 3, .device = at::kCPU}, found));
    EXPECT_TRUE(found.checked) << found.left_out;
  }
  return found;
}

using Optimizer = std::function<void(const OptimizerInputs&)>;

// The same optimizer, made worse.
Verification fourth_step_with(const std::string& workload, const std::string& precision,
                              const std::function<Optimizer(Optimizer)>& changed) {
  auto tested = case_of(workload, precision);
  tested.context.ops.optimizer = changed(tested.context.ops.optimizer);
  return fourth_step(tested);
}

TEST(StepLook, AnHonestOptimizerPassesInEveryPrecision) {
  for (const char* workload : {"model_step", "toy_mlp"}) {
    for (const std::string& precision : precisions) {
      const Verification found = fourth_step(case_of(workload, precision));
      EXPECT_LE(found.error, found.tolerance) << workload << " " << precision << " " << found.worst;
    }
  }
}

TEST(StepLook, AnHonestOptimizerPassesUnderALimit) {
  for (const std::string& precision : precisions) {
    auto tested = case_of("model_step", precision);
    tested.context.parameters["max_grad_norm"] = 0.1;
    const Verification found = fourth_step(tested);
    EXPECT_LE(found.error, found.tolerance) << precision << " " << found.worst;
  }
}

TEST(StepLook, AnOptimizerThatDoesNothingIsWrong) {
  for (const char* workload : {"model_step", "toy_mlp"}) {
    for (const std::string& precision : precisions) {
      const Verification found = fourth_step_with(workload, precision, [](Optimizer right) {
        return [right, calls = 0](const OptimizerInputs& in) mutable {
          if (++calls < 4) right(in);
        };
      });
      EXPECT_GT(found.error, found.tolerance) << workload << " " << precision;
      EXPECT_THAT(found.worst, HasSubstr("step")) << workload << " " << precision;
    }
  }
}

TEST(StepLook, AnOptimizerThatLeavesAParameterOutIsWrong) {
  for (const char* precision : {"fp32", "bf16", "fp16_master"}) {
    const Verification found = fourth_step_with("model_step", precision, [](Optimizer right) {
      return [right](OptimizerInputs in) {
        const std::size_t last = in.parameters.size() - 1;
        for (auto* list : {&in.parameters, &in.gradients, &in.first_moments, &in.second_moments,
                           &in.steps, &in.low_precision}) {
          if (!list->empty()) list->resize(last);
        }
        right(in);
      };
    });
    EXPECT_GT(found.error, found.tolerance) << precision;
  }
}

TEST(StepLook, AnOptimizerThatKeepsItsMomentsIsWrong) {
  const Verification found = fourth_step_with("model_step", "fp32", [](Optimizer right) {
    return [right, calls = 0](const OptimizerInputs& in) mutable {
      const at::NoGradGuard no_grad;
      std::vector<at::Tensor> kept;
      for (const at::Tensor& second : in.second_moments) kept.push_back(second.clone());
      right(in);
      if (++calls < 3) return;
      for (std::size_t i = 0; i < kept.size(); ++i) in.second_moments[i].copy_(kept[i]);
    };
  });
  EXPECT_GT(found.error, found.tolerance);
  EXPECT_EQ(found.worst, "the step of the second moments");
}

}  // namespace
}  // namespace assay
