#include <regex>

#include "plugins/support.h"

namespace assay {
namespace {

struct Registered {
  std::string kind, library, name;
};

class Registration : public testing::TestWithParam<Registered> {};

TEST_P(Registration, DescribesItselfInOneSentence) {
  const auto& [kind, library, name] = GetParam();
  const auto& entry = test::entry(kind, library, name);
  EXPECT_EQ(entry.kind, kind);
  EXPECT_EQ(std::string(entry.description).back(), '.');
  PluginDescription description;
  throw_unless_ok(entry.describe(description));
  for (const auto& parameter : description.parameters) {
    EXPECT_EQ(parameter.description.back(), '.') << parameter.name;
    EXPECT_FALSE(std::holds_alternative<std::monostate>(parameter.default_value)) << parameter.name;
  }
  if (kind != "workload") return;
  const auto& workload = description.workload;
  EXPECT_FALSE(description.memory_estimate.empty());
  for (const auto& pass : workload.default_passes) {
    EXPECT_NE(std::find(workload.passes.begin(), workload.passes.end(), pass),
              workload.passes.end())
        << pass;
  }
}

std::string registered_name(const testing::TestParamInfo<Registered>& tested) {
  return tested.param.kind + "_" + tested.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Shipped, Registration,
    testing::Values(
        Registered{"attention", "naive", "naive"},
        Registered{"attention", "libtorch_sdpa", "math_libtorch"},
        Registered{"attention", "libtorch_sdpa", "efficient_libtorch"},
        Registered{"attention", "libtorch_sdpa", "flash_libtorch"},
        Registered{"attention", "libtorch_sdpa", "cudnn_libtorch"},
        Registered{"attention", "flash", "flash"},
        Registered{"attention", "flash_portable", "flash_portable"},
        Registered{"norm", "rmsnorm", "rmsnorm"},
        Registered{"norm", "rmsnorm_libtorch", "rmsnorm_libtorch"},
        Registered{"norm", "layernorm", "layernorm"}, Registered{"precision", "libtorch", "fp32"},
        Registered{"precision", "libtorch", "tf32"}, Registered{"precision", "libtorch", "bf16"},
        Registered{"precision", "libtorch", "fp16"},
        Registered{"precision", "libtorch", "bf16_master"},
        Registered{"precision", "libtorch", "bf16_alone"},
        Registered{"precision", "libtorch", "fp16_master"},
        Registered{"communication", "none", "none"}, Registered{"communication", "naive", "naive"},
        Registered{"compile", "eager", "eager"}, Registered{"compile", "cuda_graph", "cuda_graph"},
        Registered{"workload", "model_step", "model_step"},
        Registered{"workload", "accumulation", "accumulation"},
        Registered{"workload", "number_formats", "number_formats"},
        Registered{"workload", "norm_sensitivity", "norm_sensitivity"},
        Registered{"workload", "dtype_trace", "dtype_trace"},
        Registered{"workload", "accounting", "accounting"},
        Registered{"workload", "attention", "attention"}, Registered{"workload", "norm", "norm"}),
    registered_name);

TEST(Precision, PoliciesAreWhatTheirNamesSay) {
  const auto policy = [](const std::string& name) {
    PrecisionPolicy found;
    throw_unless_ok(test::load<PrecisionBoundary>("precision", "libtorch", name)->policy(found));
    return found;
  };
  EXPECT_EQ(policy("fp32").compute(), at::kFloat);
  EXPECT_FALSE(policy("fp32").tf32);
  EXPECT_TRUE(policy("tf32").tf32);
  EXPECT_EQ(policy("bf16").compute(), at::kBFloat16);
  EXPECT_FALSE(policy("bf16").loss_scaling);
  EXPECT_EQ(policy("fp16").compute(), at::kHalf);
  EXPECT_TRUE(policy("fp16").loss_scaling);
  for (const char* name : {"fp32", "tf32", "bf16", "fp16"}) {
    EXPECT_EQ(policy(name).parameters, at::kFloat);
    EXPECT_FALSE(policy(name).fp32_master);
  }
  EXPECT_EQ(policy("bf16_master").parameters, at::kBFloat16);
  EXPECT_TRUE(policy("bf16_master").fp32_master);
  EXPECT_EQ(policy("bf16_alone").parameters, at::kBFloat16);
  EXPECT_FALSE(policy("bf16_alone").fp32_master);
  EXPECT_EQ(policy("fp16_master").parameters, at::kHalf);
  EXPECT_TRUE(policy("fp16_master").fp32_master);
  EXPECT_TRUE(policy("fp16_master").loss_scaling);
}

TEST(Precision, LossScalingBeginsAndGrowsAsTheOptionsSay) {
  for (const char* name : {"fp16", "fp16_master"}) {
    PrecisionPolicy found;
    const Options options = {{"initial_scale", 256.0}, {"growth_interval", test::integer(7)}};
    throw_unless_ok(
        test::load<PrecisionBoundary>("precision", "libtorch", name, options)->policy(found));
    EXPECT_EQ(found.initial_loss_scale, 256);
    EXPECT_EQ(found.loss_scale_growth_interval, 7);
  }
}

}  // namespace
}  // namespace assay
