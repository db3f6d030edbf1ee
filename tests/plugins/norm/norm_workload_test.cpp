#include <map>

#include "plugins/support.h"

namespace assay {
namespace {

test::Case norm_case(const std::string& norm, const std::string& precision, std::int64_t rows,
                     std::int64_t n_cols) {
  auto made = test::make_case({"norm", "naive", norm, precision});
  made.context.parameters = {{"rows", rows}, {"n_cols", n_cols}, {"residual", false}};
  return made;
}

TEST(NormWorkload, AcceptsWhatIsRight) {
  for (const char* norm : {"rmsnorm", "rmsnorm_libtorch", "layernorm", "layernorm_basic"}) {
    for (const char* precision : {"fp32", "bf16", "fp16"}) {
      const auto tested = norm_case(norm, precision, 37, 129);
      for (const auto& pass : test::call_passes) {
        const auto verification = test::verify(tested, pass);
        EXPECT_TRUE(verification.checked);
        EXPECT_LE(verification.error, verification.tolerance)
            << norm << " " << precision << " " << pass << " " << verification.worst;
      }
    }
  }
}

TEST(NormWorkload, AcceptsARightEntryWithAResidual) {
  for (const char* norm : {"rmsnorm", "rmsnorm_libtorch", "layernorm", "layernorm_basic"}) {
    for (const char* precision : {"fp32", "bf16"}) {
      auto tested = norm_case(norm, precision, 37, 129);
      tested.context.parameters["residual"] = true;
      for (const auto& pass : test::call_passes) {
        const auto verification = test::verify(tested, pass);
        EXPECT_TRUE(verification.checked);
        EXPECT_LE(verification.error, verification.tolerance)
            << norm << " " << precision << " " << pass << " " << verification.worst;
      }
      const auto program = test::build(tested);
      const auto outputs = test::call_once(tested, *program, "forward_backward");
      std::vector<std::string> names;
      for (const auto& output : outputs) names.push_back(output.name);
      EXPECT_EQ(names.at(0), "out");
      EXPECT_EQ(names.at(1), "sum");
      EXPECT_EQ(names.back(), "grad.residual");
    }
  }
}

TEST(NormWorkload, FindsAResidualThatGetsNoGradientOfItsOwn) {
  auto tested = norm_case("rmsnorm", "fp32", 16, 64);
  tested.context.parameters["residual"] = true;
  tested.context.ops.add_norm = [norm = tested.context.ops.norm](const at::Tensor& residual,
                                                                 NormInputs in) {
    in.x = residual + in.x;
    const auto out = norm(in);
    return std::pair(in.x.detach() + 0 * in.x, out);
  };
  const auto forward = test::verify(tested, "forward");
  EXPECT_LE(forward.error, forward.tolerance);
  const auto backward = test::verify(tested, "backward");
  EXPECT_GT(backward.error, backward.tolerance);
}

TEST(NormWorkload, RefusesWhatIsWrong) {
  using Norm = std::function<at::Tensor(const NormInputs&)>;
  const std::map<std::string, Norm> wrong = {
      {"weight forgotten",
       [](const NormInputs& in) {
         return (in.x / (in.x.square().mean(-1, true) + in.eps).sqrt()) * (in.weight * 0 + 1);
       }},
      {"mean over the rows",
       [](const NormInputs& in) {
         return in.x / (in.x.square().mean(0, true) + in.eps).sqrt() * in.weight;
       }},
      {"memory never written",
       [](const NormInputs& in) { return in.x * in.weight * 0 + at::empty_like(in.x.detach()); }},
  };
  for (const auto& [name, norm] : wrong) {
    auto tested = norm_case("rmsnorm", "fp32", 16, 64);
    tested.context.ops.norm = norm;
    for (const auto& pass : test::call_passes) {
      const auto verification = test::verify(tested, pass);
      EXPECT_GT(verification.error, verification.tolerance) << name << " " << pass;
    }
  }
}

// The forward is right; the gradient lacks the part through the mean square.
TEST(NormWorkload, FindsAWrongGradient) {
  auto tested = norm_case("rmsnorm", "fp32", 16, 64);
  tested.context.ops.norm = [](const NormInputs& in) {
    return in.x * (in.x.detach().square().mean(-1, true) + in.eps).rsqrt() * in.weight;
  };
  const auto forward = test::verify(tested, "forward");
  EXPECT_LE(forward.error, forward.tolerance);
  const auto backward = test::verify(tested, "backward");
  EXPECT_GT(backward.error, backward.tolerance);
  EXPECT_EQ(backward.worst, "grad.x");
}

// By hand: 3 · 8 elements of 2 bytes are 48 a tensor.
TEST(NormWorkload, CountsTheBytesOfItsTensors) {
  const auto tested = norm_case("rmsnorm", "bf16", 3, 8);
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(tested.workload->build(tested.context, program));
  const std::map<std::string, double> expected = {
      {"inference", 96}, {"forward", 96}, {"backward", 144}, {"forward_backward", 240}};
  for (const auto& [pass, bytes] : expected) {
    std::vector<Count> counts;
    throw_unless_ok(program->counts(pass, counts));
    ASSERT_EQ(counts.size(), 1u);
    EXPECT_EQ(counts[0].metric, "bytes");
    EXPECT_EQ(counts[0].value, bytes) << pass;
  }
}

TEST(NormWorkload, AResidualIsOneTensorMoreToReadAndOneToWrite) {
  auto tested = norm_case("rmsnorm", "bf16", 3, 8);
  tested.context.parameters["residual"] = true;
  const auto program = test::build(tested);
  std::vector<Count> counts;
  throw_unless_ok(program->counts("forward", counts));
  EXPECT_EQ(counts.at(0).value, 4 * 48);
  throw_unless_ok(program->counts("backward", counts));
  EXPECT_EQ(counts.at(0).value, 4 * 48);
}

TEST(NormWorkload, UnknownPassIsAnError) {
  const auto tested = norm_case("rmsnorm", "fp32", 3, 8);
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(tested.workload->build(tested.context, program));
  EXPECT_EQ(program->run("train_step").outcome, Outcome::error);
}

}  // namespace
}  // namespace assay
