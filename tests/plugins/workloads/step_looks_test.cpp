// What a look at a training step sees of its optimizer: an honest one passes in every precision,
// one that leaves something out does not.

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/where.h>
#include <gmock/gmock.h>

#include <memory>

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

struct Violence {
  double rate = 50;  // times the usual one
  int steps = 21;
  std::int64_t heads = 4;
};

// After such steps one sequence's gradient is far larger than another's, and rounding changes it
// far more. What is usual of the drawn sequence says nothing of the batch then.
Verification after_violent_steps(test::Case& tested, const std::string& pass, std::uint64_t seed,
                                 const Violence& violence = {}) {
  test::set_model(tested.context, "swiglu", 4, 32, 32, 64, 8, violence.heads);
  if (pass == "train_step") tested.context.parameters["max_grad_norm"] = 0.1;
  const auto rate = std::make_shared<double>(violence.rate);
  tested.context.ops.optimizer = [right = tested.context.ops.optimizer, rate](OptimizerInputs in) {
    in.learning_rate *= *rate;
    right(in);
  };
  const auto program = test::build(tested);
  for (int step = 0; step < violence.steps; ++step) test::call_once(tested, *program, "train_step");
  *rate = 1;
  Verification found;
  const auto look = [&] {
    throw_unless_ok(program->expect_look(pass));
    test::call_once(tested, *program, pass);
    found = {};
    throw_unless_ok(program->look(pass, {.seed = seed, .device = at::kCPU}, found));
  };
  look();
  EXPECT_THAT(found.worst, HasSubstr("which a call has changed")) << "farther than steps go";
  look();
  EXPECT_TRUE(found.checked) << found.left_out;
  return found;
}

TEST(StepLook, AnHonestBackwardPassesWhereSequencesDifferInRounding) {
  for (const char* precision : {"bf16", "bf16_alone"}) {
    for (const char* pass : {"forward_backward", "train_step"}) {
      for (const std::uint64_t seed : {2, 3}) {
        auto tested = test::make_case({"model_step", "naive", "rmsnorm", precision});
        const Verification found = after_violent_steps(tested, pass, seed);
        EXPECT_LE(found.error, found.tolerance)
            << precision << " " << pass << " " << seed << ": " << found.worst;
      }
    }
  }
}

// Products in two halves round otherwise than the textbook's, in fp32 too. Heads of 16, whose root
// is exact, leave the textbook's two attentions alike.
TEST(StepLook, AnHonestBackwardPassesInFp32WhereRoundingMakesMuchOfIt) {
  double largest = 0;
  for (const std::uint64_t seed : {2, 3, 4, 5}) {
    auto tested = test::make_case({"model_step", "naive", "rmsnorm", "fp32"});
    tested.context.seed = seed;
    tested.context.ops.linear = [](const at::Tensor& x, const at::Tensor& weight) {
      const std::int64_t half = x.size(-1) / 2, rest = x.size(-1) - half;
      return at::linear(x.narrow(-1, 0, half), weight.narrow(1, 0, half)) +
             at::linear(x.narrow(-1, half, rest), weight.narrow(1, half, rest));
    };
    const Verification found = after_violent_steps(tested, "forward_backward", seed,
                                                   {.rate = 200, .steps = 40, .heads = 2});
    EXPECT_LE(found.error, found.tolerance) << seed << ": " << found.worst;
    largest = std::max(largest, found.error);
  }
  EXPECT_GT(largest, 2e-4);  // which is allowed anyhow
}

// Larger and smaller by 2^-22, in no order: what a split into two halves of 11 bits loses.
at::Tensor split(const at::Tensor& x) {
  const at::Tensor place = at::arange(x.numel(), at::kLong).view(x.sizes());
  const at::Tensor is_larger = (place * 2654435761).bitwise_right_shift(13).bitwise_and(1) == 1;
  return x * at::where(is_larger, 1 + 0x1p-22, 1 - 0x1p-22).to(x.dtype());
}

TEST(StepLook, AnHonestBackwardPassesInFp32WithProductsOfSplitOperands) {
  bool needs_it = false;
  for (const std::uint64_t seed : {2, 3, 4, 5}) {
    auto tested = test::make_case({"model_step", "naive", "rmsnorm", "fp32"});
    tested.context.seed = seed;
    tested.context.ops.linear = [](const at::Tensor& x, const at::Tensor& weight) {
      return at::linear(split(x), split(weight));
    };
    const Verification found = after_violent_steps(tested, "forward_backward", seed,
                                                   {.rate = 200, .steps = 40, .heads = 2});
    EXPECT_LE(found.error, found.tolerance) << seed << ": " << found.worst;
    const double usual = found.textbook;
    needs_it = needs_it || found.error > 2 * (1 + std::min(1.0, usual / 0.1)) * usual + 2e-4;
  }
  EXPECT_TRUE(needs_it);  // that much is allowed in any precision
}

// There rounding makes so much of the largest gradients that their norm in bf16 is another than in
// fp32, by a tenth to half: all gradients are limited by it.
constexpr Violence rounded_norm = {.rate = 100, .steps = 30};

TEST(StepLook, AnHonestOptimizerPassesWhereRoundingChangesTheNorm) {
  for (const std::uint64_t seed : {6, 7, 8}) {
    auto tested = test::make_case({"model_step", "naive", "rmsnorm", "bf16"});
    tested.context.seed = seed;
    const Verification found = after_violent_steps(tested, "train_step", 3, rounded_norm);
    EXPECT_LE(found.error, found.tolerance) << seed << ": " << found.worst;
  }
}

// With an optimizer that is given other gradients or another limit, so that its moments agree with
// what it leaves.
Verification limited_wrongly(const std::function<void(OptimizerInputs&)>& change) {
  auto tested = test::make_case({"model_step", "naive", "rmsnorm", "bf16"});
  tested.context.seed = 7;
  tested.context.ops.optimizer = [right = tested.context.ops.optimizer,
                                  change](OptimizerInputs in) {
    const at::NoGradGuard no_grad;
    change(in);
    right(in);
  };
  return after_violent_steps(tested, "train_step", 3, rounded_norm);
}

TEST(StepLook, AnotherLimitIsFoundWhereRoundingChangesTheNorm) {
  for (const double factor : {0.2, 0.5, 0.9}) {
    const Verification found =
        limited_wrongly([&](OptimizerInputs& in) { in.max_grad_norm *= factor; });
    EXPECT_GT(found.error, found.tolerance) << factor;
    EXPECT_THAT(found.worst, HasSubstr("grad.")) << factor;
  }
  const Verification found = limited_wrongly([](OptimizerInputs& in) { in.max_grad_norm *= 1.1; });
  EXPECT_GT(found.error, found.tolerance);
  EXPECT_EQ(found.worst, "the norm of all gradients");
}

TEST(StepLook, AGradientOfAnotherLengthIsFoundWhereRoundingChangesTheNorm) {
  for (const double factor : {0.2, 5.0}) {
    const Verification found = limited_wrongly(
        [&](const OptimizerInputs& in) { at::Tensor(in.gradients.back()).mul_(factor); });
    EXPECT_GT(found.error, found.tolerance) << factor;
    EXPECT_THAT(found.worst, HasSubstr("grad.")) << factor;
  }
}

struct WrongBackward : ::testing::TestWithParam<const char*> {};

TEST_P(WrongBackward, IsFoundWhereSequencesDifferInRounding) {
  for (const std::uint64_t seed : {2, 3}) {
    auto tested = test::make_case({"model_step", "naive", "rmsnorm", GetParam()});
    tested.context.ops.attention = [right =
                                        tested.context.ops.attention](const AttentionInputs& in) {
      const at::Tensor out = right(in);
      if (out.requires_grad()) {
        out.register_hook([](const at::Tensor& gradient) { return gradient * 0.5; });
      }
      return out;
    };
    const Verification found = after_violent_steps(tested, "forward_backward", seed);
    EXPECT_GT(found.error, found.tolerance) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(StepLook, WrongBackward, ::testing::Values("bf16", "fp32"));

}  // namespace
}  // namespace assay
