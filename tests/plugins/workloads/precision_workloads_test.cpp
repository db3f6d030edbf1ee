#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cmath>
#include <limits>

#include "plugins/recorded.h"

namespace assay {
namespace {

test::Case precision_case(const std::string& workload, const std::string& precision,
                          const Options& parameters) {
  auto made = test::make_case({workload, "naive", "rmsnorm", precision});
  made.context.parameters = parameters;
  return made;
}

test::Recorded sums(std::int64_t terms, double addend) {
  return test::recorded(
      precision_case("accumulation", "fp32", {{"terms", terms}, {"addend", addend}}),
      "accumulation", "sum");
}

// The catalogue's C1, to the last digit.
TEST(Accumulation, GivesTheKnownSums) {
  const auto found = sums(1000, 0.01);
  EXPECT_EQ(found.value("result", "fp32"), 10.000133514404296875);
  EXPECT_EQ(found.value("result", "fp16"), 9.953125);
  EXPECT_EQ(found.value("result", "fp32 += fp16"), 10.00213623046875);
  EXPECT_EQ(found.value("result", "fp32 += fp32(fp16)"), 10.00213623046875);
  EXPECT_EQ(found.value("result", "bf16"), 4);
  EXPECT_EQ(found.value("result", "fp32 += bf16"), 10.009765625);
  EXPECT_EQ(found.value("error", "fp32"), 0.000133514404296875);
  EXPECT_EQ(found.value("error", "bf16"), 6);

  const auto larger = sums(10000, 0.001);
  EXPECT_EQ(larger.value("result", "fp32"), 10.00041103363037109375);
  EXPECT_EQ(larger.value("result", "fp16"), 4);
  EXPECT_EQ(larger.value("result", "bf16"), 0.5);
}

// Every partial sum of powers of two is exact.
TEST(Accumulation, IsExactWhereEverySumIsANumberOfTheFormat) {
  const auto found = sums(64, 0.25);
  for (const char* part : {"fp32", "fp16", "bf16", "fp32 += bf16", "fp32 += fp32(bf16)"}) {
    EXPECT_EQ(found.value("result", part), 16) << part;
    EXPECT_EQ(found.value("error", part), 0) << part;
  }
}

template <class Number>
void expect_as_in_limits(const test::Recorded& found, const char* part) {
  using Limits = std::numeric_limits<Number>;
  const auto value = [](Number number) { return static_cast<double>(static_cast<float>(number)); };
  EXPECT_EQ(found.value("mantissa_bits", part), Limits::digits - 1) << part;
  EXPECT_EQ(std::exp2(found.value("exponent_bits", part) - 1), Limits::max_exponent) << part;
  EXPECT_EQ(found.value("largest", part), value(Limits::max())) << part;
  EXPECT_EQ(found.value("smallest_normal", part), value(Limits::min())) << part;
  EXPECT_EQ(found.value("smallest_subnormal", part), value(Limits::denorm_min())) << part;
  EXPECT_EQ(found.value("epsilon", part), value(Limits::epsilon())) << part;
}

TEST(NumberFormats, AreWhatTheLimitsOfTheirTypesSay) {
  const auto found =
      test::recorded(precision_case("number_formats", "fp32", {}), "number_formats", "properties");
  expect_as_in_limits<float>(found, "fp32");
  expect_as_in_limits<c10::Half>(found, "fp16");
  expect_as_in_limits<c10::BFloat16>(found, "bf16");
}

// Micikevicius et al. 2022, table 1. Of e4m3 the largest pattern is NaN, which leaves 1.75 · 2⁸.
TEST(NumberFormats, Fp8IsAsItIsDefined) {
  const auto found =
      test::recorded(precision_case("number_formats", "fp32", {}), "number_formats", "properties");
  EXPECT_EQ(found.value("exponent_bits", "fp8_e4m3"), 4);
  EXPECT_EQ(found.value("mantissa_bits", "fp8_e4m3"), 3);
  EXPECT_EQ(found.value("largest", "fp8_e4m3"), 448);
  EXPECT_EQ(found.value("smallest_normal", "fp8_e4m3"), 0x1p-6);
  EXPECT_EQ(found.value("smallest_subnormal", "fp8_e4m3"), 0x1p-9);
  EXPECT_EQ(found.value("epsilon", "fp8_e4m3"), 0.125);
  EXPECT_EQ(found.value("exponent_bits", "fp8_e5m2"), 5);
  EXPECT_EQ(found.value("mantissa_bits", "fp8_e5m2"), 2);
  EXPECT_EQ(found.value("largest", "fp8_e5m2"), 57344);
  EXPECT_EQ(found.value("smallest_normal", "fp8_e5m2"), 0x1p-14);
  EXPECT_EQ(found.value("smallest_subnormal", "fp8_e5m2"), 0x1p-16);
  EXPECT_EQ(found.value("epsilon", "fp8_e5m2"), 0.25);
}

// 255.875² = 65472.02 rounds to fp16's 65472, 256² = 65536 to infinity. 1e-5 is 167.77 steps of
// 2⁻²⁴. 20² = 400 and 224² = 50176 are in range, 22² = 484 and 256² are not. 1e-5 is less than half
// of e4m3's smallest number.
TEST(NumberFormats, SayWhereSquaresOverflowAndWhatAnEpsIs) {
  const auto found =
      test::recorded(precision_case("number_formats", "fp32", {}), "number_formats", "properties");
  EXPECT_EQ(found.value("largest_squared", "fp16"), 255.875);
  EXPECT_EQ(found.value("largest_squared", "fp8_e4m3"), 20);
  EXPECT_EQ(found.value("largest_squared", "fp8_e5m2"), 224);
  EXPECT_NEAR(found.value("largest_squared", "fp32"), 0x1p64, 0x1p41);
  EXPECT_EQ(found.word("eps_range", "fp32"), "normal");
  EXPECT_EQ(found.word("eps_range", "bf16"), "normal");
  EXPECT_EQ(found.word("eps_range", "fp16"), "subnormal");
  EXPECT_EQ(found.word("eps_range", "fp8_e4m3"), "zero");
  EXPECT_NEAR(found.value("eps_error", "fp16"), 168 * 0x1p-24 / 1e-5 - 1, 1e-12);
  EXPECT_NEAR(found.value("dynamic_range", "fp16"), std::log10(65504 / 0x1p-14), 1e-12);
  EXPECT_NEAR(found.value("precision_digits", "fp32"), 24 * std::log10(2.0), 1e-12);
}

test::Case sensitivity(const std::string& precision, std::int64_t n_cols, double magnitude) {
  return precision_case(
      "norm_sensitivity", precision,
      {{"n_cols", n_cols}, {"rows", test::integer(16)}, {"magnitude", magnitude}, {"eps", 1e-5}});
}

// Of three elements the first and the last are added first.
TEST(NormSensitivity, RoundsEveryOperation) {
  const auto tested = sensitivity("fp16", 3, 1);
  const auto program = test::build(tested);
  throw_unless_ok(program->run("statistics"));
  std::vector<NamedTensor> outputs;
  throw_unless_ok(program->outputs("statistics", outputs));
  std::map<std::string, at::Tensor> found;
  for (const auto& output : outputs) found[output.name] = output.tensor;
  for (int row = 0; row < 16; ++row) {
    using c10::Half;
    const auto x = [&](int i) { return Half(found["x"][row][i].item<float>()); };
    const Half mean = Half((x(0) + x(2)) + x(1)) / 3;
    const auto square = [&](int i) { return Half(x(i) - mean) * Half(x(i) - mean); };
    const Half variance = Half((square(0) + square(2)) + square(1)) / 3;
    const Half with_eps = variance + 1e-5F;
    EXPECT_EQ(found["mean"][row][0].item<float>(), static_cast<float>(mean));
    EXPECT_EQ(found["variance"][row][0].item<float>(), static_cast<float>(variance));
    // A CPU rounds the root, too.
    const double rsqrt = 1 / std::sqrt(static_cast<double>(static_cast<float>(with_eps)));
    EXPECT_NEAR(found["rsqrt"][row][0].item<double>(), rsqrt, rsqrt * 0x1p-10);
    EXPECT_EQ(found["squares"][row][1].item<float>(), static_cast<float>(x(1) * x(1)));
  }
}

// A sum of n numbers in pairs errs by at most log2(n) · u, and n sums of 1 around a mean of 1
// hardly cancel; u is half of the format's epsilon.
TEST(NormSensitivity, ErrsByTheFormatsEpsilon) {
  const std::map<std::string, double> epsilons = {
      {"fp32", 0x1p-23}, {"fp16", 0x1p-10}, {"bf16", 0x1p-7}};
  for (const auto& [precision, epsilon] : epsilons) {
    const auto found =
        test::recorded(sensitivity(precision, 256, 1), "norm_sensitivity", "statistics");
    for (const char* part : {"mean", "variance", "rsqrt"}) {
      EXPECT_EQ(found.word("range", part), "fits") << precision << part;
      EXPECT_GT(found.value("error", part), epsilon / 16) << precision << part;
      EXPECT_LT(found.value("error", part), epsilon * 8) << precision << part;
    }
    // In fp16 some squares of small elements are subnormal.
    if (precision != "fp16") {
      EXPECT_LE(found.value("error", "squares"), epsilon / 2) << precision;
    }
  }
}

TEST(NormSensitivity, SaysWhatLeavesTheRange) {
  const auto record = [](const char* precision, double magnitude) {
    return test::recorded(sensitivity(precision, 256, magnitude), "norm_sensitivity", "statistics");
  };
  const auto large = record("fp16", 1000);
  EXPECT_EQ(large.word("range", "squares"), "overflows");
  EXPECT_EQ(large.word("range", "variance"), "overflows");
  EXPECT_EQ(large.word("range", "rsqrt"), "overflows");
  EXPECT_EQ(large.word("range", "mean"), "overflows") << "256 · 1000 is beyond 65504";
  EXPECT_FALSE(large.has("error", "squares"));
  EXPECT_EQ(record("bf16", 1000).word("range", "squares"), "fits");
  EXPECT_EQ(record("fp16", 1e-4).word("range", "squares"), "underflows");
  EXPECT_EQ(record("fp32", 1000).word("range", "variance"), "fits");
  EXPECT_EQ(record("fp16", 1).value("largest_squared"), 255.875);
}

test::Recorded dtypes(const std::string& precision, const std::string& network) {
  auto tested = test::make_case({"dtype_trace", "naive", "rmsnorm", precision});
  test::set_model(tested.context, "swiglu", 2, 16);
  tested.context.parameters["network"] = network;
  return test::recorded(tested, "dtype_trace", "step");
}

// What autocast leaves of a step by LibTorch's lists: products narrow, cross-entropy wide.
TEST(DtypeTrace, OfASmallNetworkUnderAutocast) {
  for (const auto& [precision, narrow] :
       std::map<std::string, std::string>{{"fp16", "torch.float16"}, {"bf16", "torch.bfloat16"}}) {
    const auto found = dtypes(precision, "mlp");
    EXPECT_EQ(found.word("dtype", "parameters"), "torch.float32");
    EXPECT_EQ(found.word("dtype", "fc1 output"), narrow);
    EXPECT_EQ(found.value("element_size", "fc1 output"), 2);
    EXPECT_TRUE(found.has("dtype", "layer norm output"));
    EXPECT_EQ(found.word("dtype", "logits"), narrow);
    EXPECT_EQ(found.word("dtype", "loss"), "torch.float32");
    EXPECT_EQ(found.word("taken", "loss"), "inside autocast");
    EXPECT_EQ(found.word("dtype", "loss outside autocast"), narrow);
    EXPECT_EQ(found.word("taken", "loss outside autocast"), "outside autocast");
    EXPECT_EQ(found.word("dtype", "gradients"), "torch.float32");
    EXPECT_EQ(found.value("element_size", "gradients"), 4);
  }
}

TEST(DtypeTrace, OfATransformerUnderAnyPolicy) {
  const auto mixed = dtypes("bf16", "transformer");
  EXPECT_EQ(mixed.word("dtype", "residual stream"), "torch.float32");
  EXPECT_EQ(mixed.word("dtype", "attention output"), "torch.bfloat16");
  EXPECT_EQ(mixed.word("dtype", "fc2 output"), "torch.bfloat16");
  EXPECT_EQ(mixed.word("dtype", "logits"), "torch.bfloat16");
  EXPECT_EQ(mixed.word("dtype", "loss"), "torch.float32");

  const auto master = dtypes("fp16_master", "transformer");
  EXPECT_EQ(master.word("dtype", "parameters"), "torch.float16");
  EXPECT_EQ(master.word("dtype", "residual stream"), "torch.float16");
  EXPECT_EQ(master.word("dtype", "gradients"), "torch.float16");
  EXPECT_EQ(master.word("dtype", "optimizer's parameters"), "torch.float32");
  EXPECT_EQ(master.word("dtype", "optimizer's gradients"), "torch.float32");
  EXPECT_EQ(master.word("taken", "loss"), "without autocast");
  EXPECT_EQ(dtypes("bf16_alone", "mlp").word("dtype", "first moments"), "torch.bfloat16");
}

test::Recorded against_fp32(test::Case tested, std::int64_t steps) {
  test::set_model(tested.context, "swiglu", 2, 16);
  tested.context.parameters["compared_steps"] = steps;
  return test::recorded(tested, "model_step", "against_fp32");
}

TEST(AgainstFp32, Fp32ItselfDiffersByRoundingAlone) {
  const auto found = against_fp32(test::make_case({"model_step"}), 3);
  ASSERT_EQ(found.samples("loss").size(), 3u);
  EXPECT_NEAR(found.samples("loss", "fp32")[0], std::log(100.0), 0.3);
  EXPECT_LT(found.samples("loss")[2], found.samples("loss")[0]);
  for (const double error : found.samples("loss_error")) EXPECT_LT(error, 1e-5);
  for (const double error : found.samples("gradient_error")) EXPECT_LT(error, 1e-3);
}

TEST(AgainstFp32, BeginsAgainAfterOtherSteps) {
  auto tested = test::make_case({"model_step"});
  test::set_model(tested.context, "swiglu", 2, 16);
  tested.context.parameters["compared_steps"] = test::integer(2);
  const auto program = test::build(tested);
  for (int step = 0; step < 3; ++step) {
    throw_unless_ok(program->before("train_step"));
    throw_unless_ok(program->run("train_step"));
  }
  const test::Recorded found("model_step", *program, "against_fp32");
  for (const double error : found.samples("loss_error")) EXPECT_LT(error, 1e-5);
}

// A step of 0.001 is lost on a weight of 1, and rounded coarsely on others, without a copy in fp32.
TEST(AgainstFp32, AMasterCopyKeepsTrainingNearFp32) {
  const auto with =
      against_fp32(test::make_case({"model_step", "naive", "rmsnorm", "bf16_master"}), 30);
  const auto without =
      against_fp32(test::make_case({"model_step", "naive", "rmsnorm", "bf16_alone"}), 30);
  // Both begin with the same rounded weights.
  EXPECT_EQ(with.value("first_gradient_error"), without.value("first_gradient_error"));
  EXPECT_GT(with.value("first_gradient_error"), 1e-3);
  EXPECT_LT(with.value("first_gradient_error"), 5e-2);
  EXPECT_LT(3 * with.value("last_loss_error"), without.value("last_loss_error"));
}

// Each skipped step halves the scale, and none of so few good ones doubles it.
TEST(AgainstFp32, CountsSkippedSteps) {
  auto tested = test::make_case({"model_step", "naive", "rmsnorm", "fp16"});
  tested.context.precision.initial_loss_scale = 0x1p40;
  const auto found = against_fp32(std::move(tested), 30);
  const double skips = found.value("compared_skips");
  EXPECT_GT(skips, 10);
  EXPECT_LT(skips, 30);
  EXPECT_EQ(found.samples("gradient_error").size(), 30 - static_cast<std::size_t>(skips));
  EXPECT_EQ(found.samples("loss")[0], found.samples("loss")[static_cast<std::size_t>(skips) - 1])
      << "a skipped step changes nothing";
}

TEST(ModelStep, RecordsSkippedStepsAndTheScaleThatTheyLeave) {
  auto tested = test::make_case({"model_step", "naive", "rmsnorm", "fp16"});
  test::set_model(tested.context, "swiglu", 2, 16);
  tested.context.precision.initial_loss_scale = 0x1p126;
  const auto program = test::build(tested);
  for (int step = 0; step < 4; ++step) {
    throw_unless_ok(program->before("train_step"));
    throw_unless_ok(program->run("train_step"));
  }
  const test::Recorded found("model_step", *program, "train_step");
  EXPECT_EQ(found.value("skipped_steps"), 4);
  EXPECT_EQ(found.value("loss_scale"), 0x1p122);
}

}  // namespace
}  // namespace assay
