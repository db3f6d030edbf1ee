#include "worker/looks/output_check.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>

#include <limits>

#include "measure/idle_program.h"

namespace assay::worker {
namespace {

using ::testing::HasSubstr;

class Program final : public test::IdleProgram {
 public:
  explicit Program(std::vector<NamedTensor> left) : left_(std::move(left)) {}

  Status outputs(const std::string&, std::vector<NamedTensor>& tensors) noexcept override {
    tensors = left_;
    return {};
  }

 private:
  std::vector<NamedTensor> left_;
};

using Left = std::vector<NamedTensor>;

// Status after calls with these outputs and a tolerance of 1 %.
Status found(const std::vector<Left>& calls, const std::string& pass = "forward",
             bool loss_scaling = false) {
  PrecisionPolicy precision;
  precision.loss_scaling = loss_scaling;
  OutputCheck check(pass, precision, 0.01);
  for (const Left& left : calls) {
    Program program(left);
    check.look(program);
  }
  return check.status();
}

const double nan = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

TEST(OutputCheck, CallsThatLeaveTheSameAreRight) {
  const auto out = at::randn({40, 50});
  EXPECT_TRUE(found({{{"out", out}}, {{"out", out.clone()}}, {{"out", out * 1.001}}}).ok());
  EXPECT_TRUE(found({{}, {}}).ok());
}

TEST(OutputCheck, AnOutputThatChangesIsWrong) {
  const auto out = at::randn({40, 50});
  const Status status = found({{{"out", out}}, {{"out", out}}, {{"out", out * 1.5}}});
  EXPECT_EQ(status.outcome, Outcome::wrong);
  EXPECT_THAT(status.reason, HasSubstr("after timing: out changed from call to call by 0.5"));
}

TEST(OutputCheck, AChangeFarFromTheElementsThatAreComparedShowsInTheNorm) {
  const auto out = at::randn({4'000'000});
  const auto half = out.clone();
  half.narrow(0, 0, 2'000'000).zero_();
  EXPECT_EQ(found({{{"out", out}}, {{"out", half}}}).outcome, Outcome::wrong);
  auto once = out.clone();
  once[1'234'567] = 1e6;
  EXPECT_EQ(found({{{"out", out}}, {{"out", once}}}).outcome, Outcome::wrong);
}

TEST(OutputCheck, TheSameElementsElsewhereAreAChange) {
  const auto out = at::randn({100'000});
  EXPECT_EQ(found({{{"out", out}}, {{"out", out.flip({0})}}}).outcome, Outcome::wrong);
}

TEST(OutputCheck, NanAndInfinityAreWrongEvenOnceAndAnywhere) {
  for (const double value : {nan, infinity, -infinity}) {
    for (const auto dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
      auto out = at::ones({300, 1000}, dtype);
      out[299][999] = value;
      const Status status = found({{{"out", out}}});
      EXPECT_EQ(status.outcome, Outcome::wrong) << value << " " << dtype;
      EXPECT_THAT(status.reason, HasSubstr(std::isnan(value) ? "out holds NaN" : "out holds inf"));
    }
  }
}

TEST(OutputCheck, AnotherShapeIsWrong) {
  EXPECT_THAT(found({{{"out", at::ones({4, 6})}}, {{"out", at::ones({6, 4})}}}).reason,
              HasSubstr("out has another shape"));
}

TEST(OutputCheck, AnOutputThatIsMissingLaterIsWrong) {
  EXPECT_THAT(found({{{"out", at::ones({4})}}, {}}).reason, HasSubstr("left no out"));
}

TEST(OutputCheck, AnUndefinedOutputIsWrong) {
  Program program({{"out", at::Tensor()}});
  OutputCheck check("forward", {}, 0.01);
  try {
    check.look(program);
    FAIL();
  } catch (const PluginFailure& failure) {
    EXPECT_EQ(failure.status().outcome, Outcome::wrong);
    EXPECT_THAT(failure.status().reason, HasSubstr("out is an undefined tensor"));
  }
}

TEST(OutputCheck, ATrainStepMovesOnButItsLossStaysFinite) {
  const Left first = {{"loss", at::full({}, 3.0)}, {"grad.w", at::ones({5})}};
  const Left later = {{"loss", at::full({}, 2.0)}, {"grad.w", at::ones({5}) * 2}};
  EXPECT_TRUE(found({first, later}, "train_step").ok());
  EXPECT_FALSE(found({first, later}, "backward").ok());
  EXPECT_EQ(found({first, {{"loss", at::full({}, nan)}}}, "train_step").outcome, Outcome::wrong);
  const auto with_gradient = [](double value) {
    return Left{{"loss", at::ones({})}, {"grad.w", at::full({5}, value)}};
  };
  EXPECT_TRUE(found({first, with_gradient(infinity)}, "train_step").ok());
  EXPECT_EQ(found({first, with_gradient(nan)}, "train_step").outcome, Outcome::wrong);
}

TEST(OutputCheck, GradientsMayOverflowUnderLossScaling) {
  const Left overflown = {{"loss", at::ones({})}, {"grad.w", at::full({5}, infinity)}};
  EXPECT_TRUE(found({overflown, overflown}, "backward", /*loss_scaling=*/true).ok());
  EXPECT_FALSE(found({overflown, overflown}, "backward").ok());
}

TEST(OutputCheck, TensorsOfAnyLayoutAndDtypeAreCompared) {
  const auto transposed = at::randn({300, 400}).t();
  EXPECT_TRUE(found({{{"out", transposed}}, {{"out", transposed.contiguous()}}}).ok());
  EXPECT_FALSE(found({{{"out", transposed}}, {{"out", -transposed}}}).ok());
  const auto sliced = at::randn({300, 400}).slice(1, 0, 400, 3);
  EXPECT_TRUE(found({{{"out", sliced}}, {{"out", sliced}}}).ok());
  const auto places = at::arange(50);
  EXPECT_TRUE(found({{{"out", places}}, {{"out", places}}}).ok());
  EXPECT_FALSE(found({{{"out", places}}, {{"out", places + 1}}}).ok());
  EXPECT_TRUE(found({{{"out", at::ones({0})}}, {{"out", at::ones({0})}}}).ok());
}

}  // namespace
}  // namespace assay::worker
