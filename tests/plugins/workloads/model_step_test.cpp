#include <cmath>
#include <map>

#include "base/host_memory.h"
#include "plugins/support.h"

namespace assay {
namespace {

const std::vector<std::string> passes = {"inference", "forward", "backward", "forward_backward",
                                         "train_step"};

std::map<std::string, at::Tensor> named(const std::vector<NamedTensor>& tensors) {
  std::map<std::string, at::Tensor> map;
  for (const auto& tensor : tensors) map[tensor.name] = tensor.tensor.clone();
  return map;
}

struct Composition {
  std::string architecture, attention, norm, precision;
};

class ModelStepVerification : public testing::TestWithParam<Composition> {};

TEST_P(ModelStepVerification, AcceptsEveryPass) {
  const auto& [architecture, attention, norm, precision] = GetParam();
  auto tested = test::make_case({"model_step", attention, norm, precision});
  test::set_model(tested.context, architecture, 2, 24);
  for (const auto& pass : passes) {
    Verification verification;
    throw_unless_ok(tested.workload->verify(tested.context, pass, verification));
    EXPECT_TRUE(verification.checked);
    EXPECT_LE(verification.error, verification.tolerance) << pass << ": " << verification.worst;
    RecordProperty(pass, std::to_string(verification.error));
  }
}

std::string composition_name(const testing::TestParamInfo<Composition>& tested) {
  const auto& [architecture, attention, norm, precision] = tested.param;
  return architecture + "_" + attention + "_" + norm + "_" + precision;
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, ModelStepVerification,
    testing::Values(Composition{"swiglu", "naive", "rmsnorm", "fp32"},
                    Composition{"gelu", "naive", "layernorm", "fp32"},
                    Composition{"swiglu", "flash_libtorch", "rmsnorm_libtorch", "fp32"},
                    Composition{"gelu", "math_libtorch", "rmsnorm", "bf16"},
                    Composition{"swiglu", "naive", "rmsnorm", "bf16"},
                    Composition{"swiglu", "flash_libtorch", "layernorm", "bf16"},
                    Composition{"gelu", "flash_libtorch", "rmsnorm", "bf16"},
                    Composition{"swiglu", "naive", "rmsnorm", "fp16"},
                    Composition{"gelu", "math_libtorch", "rmsnorm", "bf16_master"},
                    Composition{"swiglu", "naive", "layernorm", "fp16_master"}),
    composition_name);

TEST(ModelStepVerification, AcceptsFewerHeadsOfKAndVAndALimitOfTheGradients) {
  for (const char* attention : {"naive", "flash_libtorch"}) {
    auto tested = test::make_case({"model_step", attention});
    test::set_model(tested.context, "swiglu", 2, 24);
    tested.context.presets["model"]["kv_heads"] = test::integer(2);
    tested.context.parameters["max_grad_norm"] = 0.01;
    for (const auto& pass : passes) {
      const auto verification = test::verify(tested, pass);
      EXPECT_TRUE(verification.checked);
      EXPECT_LE(verification.error, verification.tolerance) << pass << ": " << verification.worst;
    }
  }
}

TEST(ModelStepVerification, FindsAnOptimizerThatForgetsTheLimit) {
  auto tested = test::make_case({"model_step"});
  test::set_model(tested.context, "gelu", 2, 24);
  tested.context.parameters["max_grad_norm"] = 0.01;
  tested.context.ops.optimizer = [right = tested.context.ops.optimizer](OptimizerInputs in) {
    in.max_grad_norm = 0;
    right(in);
  };
  const auto verification = test::verify(tested, "train_step");
  EXPECT_GT(verification.error, verification.tolerance);
}

TEST(ModelStep, ALimitIsTheNormOfWhatATrainStepLeaves) {
  auto tested = test::make_case({"model_step"});
  test::set_model(tested.context, "swiglu", 2, 16);
  tested.context.parameters["max_grad_norm"] = 0.125;
  const auto program = test::build(tested);
  double squares = 0;
  for (const auto& [name, tensor] : test::call_once(tested, *program, "train_step")) {
    if (name.starts_with("grad.")) squares += tensor.square().sum().item<double>();
  }
  EXPECT_NEAR(std::sqrt(squares), 0.125, 1e-5);
}

TEST(ModelStepOutputs, ATimedProgramShowsTheLogitsOfWhatHasNoBackward) {
  auto tested = test::make_case({"model_step", "naive", "rmsnorm", "fp32"});
  test::set_model(tested.context, "swiglu", 2, 24);
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(tested.workload->build(tested.context, program));
  for (const char* pass : {"inference", "forward"}) {
    const auto shown = named(test::call_once(tested, *program, pass));
    ASSERT_TRUE(shown.contains("logits")) << pass;
    EXPECT_EQ(shown.at("logits").size(1), 24);
    EXPECT_EQ(shown.at("logits").dim(), 3);
  }
}

struct Fault {
  std::string name;
  void (*plant)(Ops& ops);
};

class WrongOperation : public testing::TestWithParam<Fault> {};

TEST_P(WrongOperation, IsFoundInEveryPass) {
  for (const char* precision : {"fp32", "bf16"}) {
    auto tested = test::make_case({"model_step", "naive", "rmsnorm", precision});
    test::set_model(tested.context, "swiglu", 2, 24);
    GetParam().plant(tested.context.ops);
    for (const auto& pass : passes) {
      Verification verification;
      throw_unless_ok(tested.workload->verify(tested.context, pass, verification));
      EXPECT_GT(verification.error, verification.tolerance) << precision << " " << pass;
    }
  }
}

const Fault faults[] = {
    {"unmasked",
     [](Ops& ops) {
       ops.attention = [right = ops.attention](AttentionInputs in) {
         in.causal = false;
         return right(in);
       };
     }},
    {"zero_attention",
     [](Ops& ops) { ops.attention = [](const AttentionInputs& in) { return in.q * 0; }; }},
    {"unwritten_row",
     [](Ops& ops) {
       ops.attention = [right = ops.attention](const AttentionInputs& in) {
         const auto poison = at::empty_like(in.q.detach()).narrow(2, 0, 1);
         return at::cat({poison, right(in).narrow(2, 1, in.q.size(2) - 1)}, 2);
       };
     }},
};

std::string fault_name(const testing::TestParamInfo<Fault>& tested) { return tested.param.name; }

INSTANTIATE_TEST_SUITE_P(Planted, WrongOperation, testing::ValuesIn(faults), fault_name);

std::vector<double> losses_of_twenty_steps(const std::string& architecture,
                                           const std::string& precision) {
  auto tested = test::make_case({"model_step", "naive", "rmsnorm", precision});
  test::set_model(tested.context, architecture, 2, 16);
  const auto program = test::build(tested);
  GuardedStep step;
  throw_unless_ok(tested.compile->prepare(*program, "train_step", tested.context, step));
  std::vector<double> losses;
  for (int i = 0; i < 20; ++i) {
    throw_unless_ok(step.before());
    throw_unless_ok(step.run());
    std::vector<NamedTensor> outputs;
    throw_unless_ok(program->outputs("train_step", outputs));
    losses.push_back(named(outputs).at("loss").item<double>());
  }
  return losses;
}

TEST(ModelStep, LossStartsAtThatOfAGuessAndFalls) {
  for (const char* architecture : {"swiglu", "gelu"}) {
    const auto losses = losses_of_twenty_steps(architecture, "fp32");
    EXPECT_NEAR(losses.front(), std::log(100.0), 0.3);
    EXPECT_LT(losses.back(), losses.front() - 0.5);
  }
}

TEST(ModelStep, TwentyStepsOf16BitFollowThoseOfFp32) {
  for (const char* architecture : {"swiglu", "gelu"}) {
    const auto right = losses_of_twenty_steps(architecture, "fp32");
    for (const char* precision : {"bf16", "fp16"}) {
      const auto losses = losses_of_twenty_steps(architecture, precision);
      for (std::size_t i = 0; i < right.size(); ++i) {
        EXPECT_NEAR(losses[i], right[i], 2e-2 * right[i])
            << architecture << " " << precision << ", step " << i;
      }
    }
  }
}

TEST(ModelStep, BackwardAloneGivesTheGradientsOfBoth) {
  auto tested = test::make_case({"model_step"});
  test::set_model(tested.context, "swiglu", 2, 16);
  const auto program = test::build(tested);
  const auto both = named(test::call_once(tested, *program, "forward_backward"));
  const auto backward = named(test::call_once(tested, *program, "backward"));
  ASSERT_EQ(both.size(), backward.size());
  ASSERT_GT(both.size(), 10u);
  for (const auto& [name, tensor] : both) EXPECT_TRUE(tensor.equal(backward.at(name))) << name;
}

TEST(ModelStep, LossScalingDoesNotShowInTheGradients) {
  std::map<std::string, at::Tensor> gradients[2];
  for (int scaled = 0; scaled < 2; ++scaled) {
    auto tested = test::make_case({"model_step"});
    test::set_model(tested.context, "gelu", 2, 16);
    tested.context.precision.loss_scaling = scaled == 1;
    gradients[scaled] = named(test::call_once(tested, *test::build(tested), "forward_backward"));
  }
  for (const auto& [name, tensor] : gradients[0]) {
    EXPECT_TRUE(tensor.allclose(gradients[1].at(name), 1e-4, 1e-7)) << name;
  }
}

// A call and a look at it; of a train_step announced before.
Verification looked_at(const test::Case& tested, ProgramBoundary& program,
                       const std::string& pass) {
  throw_unless_ok(program.expect_look(pass));
  test::call_once(tested, program, pass);
  Verification found;
  throw_unless_ok(program.look(pass, {.seed = 3, .device = at::kCPU}, found));
  return found;
}

TEST(ModelStepLook, AcceptsEveryPassOfBothWorkloads) {
  for (const auto& pass : passes) {
    auto tested = test::make_case({"model_step"});
    test::set_model(tested.context, "swiglu", 3, 24);
    const auto found = looked_at(tested, *test::build(tested), pass);
    EXPECT_TRUE(found.checked) << pass << ": " << found.left_out;
    EXPECT_LE(found.error, found.tolerance) << pass << ": " << found.worst;
    if (pass == "inference") continue;
    auto toy = test::make_case({"toy_mlp"});
    toy.context.parameters = {{"width", test::integer(20)}, {"batch", test::integer(7)}};
    const auto of_toy = looked_at(toy, *test::build(toy), pass);
    EXPECT_TRUE(of_toy.checked) << pass << ": " << of_toy.left_out;
    EXPECT_LE(of_toy.error, of_toy.tolerance) << pass << ": " << of_toy.worst;
  }
}

TEST(ModelStepLook, FindsWhatIsWrongInEveryPass) {
  for (const auto& pass : passes) {
    auto tested = test::make_case({"model_step"});
    test::set_model(tested.context, "swiglu", 3, 24);
    tested.context.ops.attention = [right = tested.context.ops.attention](AttentionInputs in) {
      in.causal = false;
      return right(in);
    };
    const auto found = looked_at(tested, *test::build(tested), pass);
    EXPECT_GT(found.error, found.tolerance) << pass;
  }
}

TEST(ModelStepLook, OfAStepThatWasNotAnnouncedSaysThatItComparesNothing) {
  auto tested = test::make_case({"model_step"});
  test::set_model(tested.context, "swiglu", 2, 16);
  const auto program = test::build(tested);
  test::call_once(tested, *program, "train_step");
  Verification found;
  throw_unless_ok(program->look("train_step", {.seed = 3, .device = at::kCPU}, found));
  EXPECT_FALSE(found.checked);
  EXPECT_EQ(found.left_out, "what the step started from was not kept");
}

// The scale is halved by each step that overflows: what is skipped is that step's comparison alone.
TEST(ModelStepLook, ComparesAgainOnceTheLossScaleHasAdapted) {
  auto tested = test::make_case({"model_step", "naive", "rmsnorm", "fp16"});
  test::set_model(tested.context, "swiglu", 2, 16);
  tested.context.precision.initial_loss_scale = 0x1p24;
  const auto program = test::build(tested);
  const auto first = looked_at(tested, *program, "train_step");
  EXPECT_FALSE(first.checked);
  EXPECT_EQ(first.left_out, "gradients have overflown, and the step is skipped");
  Verification found;
  for (int step = 0; step < 24 && !found.checked; ++step) {
    found = looked_at(tested, *program, "train_step");
  }
  EXPECT_TRUE(found.checked) << found.left_out;
  EXPECT_LE(found.error, found.tolerance) << found.worst;
}

TEST(ModelStepLook, FindsGradientsThatOverflowAtAnyLossScale) {
  auto tested = test::make_case({"model_step", "naive", "rmsnorm", "fp16"});
  test::set_model(tested.context, "swiglu", 2, 16);
  tested.context.precision.initial_loss_scale = 4;
  tested.context.ops.attention = [right = tested.context.ops.attention](const AttentionInputs& in) {
    const at::Tensor out = right(in);
    if (out.requires_grad()) {
      out.register_hook([](const at::Tensor& gradient) { return gradient * std::nan(""); });
    }
    return out;
  };
  const auto program = test::build(tested);
  Verification found;
  for (int step = 0; step < 4; ++step) found = looked_at(tested, *program, "train_step");
  EXPECT_GT(found.error, found.tolerance) << found.left_out;
  EXPECT_EQ(found.worst, "a gradient, which overflows at a loss scale below 1,");
}

// A process that took more would be stopped.
TEST(ModelStepLook, IsLeftOutWhereTheHostLacksTheMemory) {
  for (const char* pass : {"forward", "forward_backward", "train_step"}) {
    auto tested = test::make_case({"model_step"});
    test::set_model(tested.context, "swiglu", 2, 16);
    const auto program = test::build(tested);
    ::setenv(memory_limit_variable, "1 MiB", 1);
    const auto found = looked_at(tested, *program, pass);
    ::unsetenv(memory_limit_variable);
    EXPECT_FALSE(found.checked) << pass;
    EXPECT_NE(found.left_out.find("of host memory, 0 B are left"), std::string::npos)
        << found.left_out;
  }
}

TEST(ModelStep, RanksShareTheModelButNotTheData) {
  std::map<std::string, at::Tensor> of_rank[2];
  for (int rank = 0; rank < 2; ++rank) {
    auto tested = test::make_case({"model_step"});
    test::set_model(tested.context, "swiglu", 2, 16);
    tested.context.group.rank = rank;
    of_rank[rank] = named(test::call_once(tested, *test::build(tested), "forward_backward"));
  }
  EXPECT_FALSE(of_rank[0].at("loss").equal(of_rank[1].at("loss")));
  EXPECT_NEAR(of_rank[0].at("loss").item<double>(), of_rank[1].at("loss").item<double>(), 0.5);
}

TEST(ModelStep, CountsParametersAndFlopsByPass) {
  auto tested = test::make_case({"model_step"});
  test::set_model(tested.context, "swiglu", 2, 16);
  const auto program = test::build(tested);
  const auto flops = [&](const std::string& pass) {
    std::vector<Count> counts;
    throw_unless_ok(program->counts(pass, counts));
    for (const auto& count : counts) {
      if (count.metric == "parameters") {
        // 2 blocks of 4 · 32² + 3 · 32 · 64 + 2 · 32, two tables of 100 · 32, one norm.
        EXPECT_EQ(count.value, 2 * (4096 + 6144 + 64) + 6400 + 32);
      }
      if (count.metric == "flops") return count.value;
    }
    return 0.0;
  };
  EXPECT_GT(flops("forward"), 0);
  EXPECT_EQ(flops("backward"), 2 * flops("inference"));
  EXPECT_EQ(flops("train_step"), 3 * flops("forward"));
}

TEST(ModelStep, UnknownPassIsAnError) {
  auto tested = test::make_case({"model_step"});
  test::set_model(tested.context, "swiglu", 1, 4);
  const Status status = test::build(tested)->run("sideways");
  EXPECT_EQ(status.outcome, Outcome::error);
  EXPECT_NE(status.reason.find("sideways"), std::string::npos);
}

TEST(CudaGraph, IsUnsupportedOnACpu) {
  auto tested = test::make_case({"model_step", "naive", "rmsnorm", "fp32", "cuda_graph"});
  test::set_model(tested.context, "swiglu", 1, 4);
  const auto program = test::build(tested);
  GuardedStep step;
  const Status status = tested.compile->prepare(*program, "forward", tested.context, step);
  EXPECT_EQ(status.outcome, Outcome::unsupported);
  EXPECT_EQ(status.reason, "cuda_graph needs a CUDA device");
}

}  // namespace
}  // namespace assay
