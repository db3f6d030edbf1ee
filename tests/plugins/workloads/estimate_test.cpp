#include <cmath>
#include <map>

#include "plugins/described.h"
#include "plugins/support.h"

namespace assay {
namespace {

using Names = std::map<std::string, Value>;

// The 2.7B model of the catalogue, batch 4, 512 tokens, bf16.
Names model_names(const std::string& architecture, bool backward, bool train_step) {
  return {{"workload", std::string("model_step")},
          {"architecture", architecture},
          {"d_model", test::integer(2560)},
          {"d_ff", test::integer(10240)},
          {"layers", test::integer(32)},
          {"heads", test::integer(32)},
          {"vocab_size", test::integer(10000)},
          {"batch", test::integer(4)},
          {"seq_len", test::integer(512)},
          {"element_size", test::integer(2)},
          {"runs_backward", test::integer(backward)},
          {"runs_train_step", test::integer(train_step)},
          {"attention_memory", test::integer(0)}};
}

constexpr double gib = 1024.0 * 1024 * 1024;

TEST(ModelStepMemory, InferenceIsTheParametersAndLittleElse) {
  const double swiglu = test::memory_estimate("workload", "model_step", "model_step",
                                              model_names("swiglu", false, false));
  EXPECT_GT(swiglu, 4 * 3'406'809'600.0);
  EXPECT_LT(swiglu, 4 * 3'406'809'600.0 + gib);
  const double gelu = test::memory_estimate("workload", "model_step", "model_step",
                                            model_names("gelu", false, false));
  EXPECT_GT(gelu, 4 * (2'542'348'800.0 + 2560 * 512));
  EXPECT_LT(gelu, 4 * 2'542'348'800.0 + gib);
}

// Parameters, gradients and moments alone are 50.8 GiB.
TEST(ModelStepMemory, TrainingIsTheStateAndWhatTheBackwardNeeds) {
  auto names = model_names("swiglu", true, true);
  const double without = test::memory_estimate("workload", "model_step", "model_step", names);
  EXPECT_GT(without, 50.7 * gib);
  EXPECT_LT(without, 65 * gib);
  names["attention_memory"] =
      static_cast<std::int64_t>(test::memory_estimate("attention", "naive", "naive", names));
  EXPECT_GT(test::memory_estimate("workload", "model_step", "model_step", names), without);
}

// Parameters are 12.69 GiB; a training step's look copies them and makes four gradients of them.
TEST(ModelStepMemory, ALookTakesSeveralTimesTheParametersAndWhatASequenceKeeps) {
  const auto look = [](auto... of) {
    return test::memory_estimate("workload", "model_step", "model_step", model_names(of...),
                                 &PluginDescription::look_memory_estimate);
  };
  const double sizes = 12.69 * gib;
  EXPECT_NEAR(look("swiglu", false, false), 2 * sizes, gib);
  EXPECT_NEAR(look("swiglu", true, false), 4 * sizes, 8 * gib);
  EXPECT_NEAR(look("swiglu", true, true) - look("swiglu", true, false), sizes, gib / 10);
  auto longer = model_names("swiglu", true, true);
  longer["seq_len"] = test::integer(8192);
  // 32 heads of 32 layers keep 256 GiB of probabilities.
  EXPECT_GT(test::memory_estimate("workload", "model_step", "model_step", longer,
                                  &PluginDescription::look_memory_estimate),
            256 * gib);
}

// k and v of 32 layers are a quarter as wide.
TEST(ModelStepMemory, FewerHeadsOfKAndVAreFewerParameters) {
  auto names = model_names("swiglu", false, false);
  const double all = test::memory_estimate("workload", "model_step", "model_step", names);
  names["kv_heads"] = test::integer(8);
  EXPECT_EQ(all - test::memory_estimate("workload", "model_step", "model_step", names),
            4.0 * 32 * 2 * 2560 * (2560 - 640));
}

// Batch 8 at 16,384 in fp32: the probabilities alone are 8 GiB, and the scores stand beside them.
TEST(NaiveAttentionMemory, GrowsWithTheSquareOfTheLength) {
  Names names = {{"workload", std::string("attention")},
                 {"batch", test::integer(8)},
                 {"heads", test::integer(1)},
                 {"seq_len", test::integer(16384)},
                 {"d_head", test::integer(64)},
                 {"element_size", test::integer(4)},
                 {"runs_backward", test::integer(0)}};
  EXPECT_EQ(test::memory_estimate("attention", "naive", "naive", names), 16 * gib);
  names["runs_backward"] = test::integer(1);
  EXPECT_EQ(test::memory_estimate("attention", "naive", "naive", names), 32 * gib);
  names["seq_len"] = test::integer(8192);
  EXPECT_EQ(test::memory_estimate("attention", "naive", "naive", names), 8 * gib);
}

// x, out and dout of 10 · 100 elements, then dx and two tensors in fp32.
TEST(NormMemory, IsItsTensorsAndWhatTheBackwardKeeps) {
  Names names = {{"rows", test::integer(10)},
                 {"n_cols", test::integer(100)},
                 {"element_size", test::integer(2)},
                 {"runs_backward", test::integer(0)}};
  EXPECT_EQ(test::memory_estimate("workload", "norm", "norm", names), 3 * 2000);
  names["runs_backward"] = test::integer(1);
  EXPECT_EQ(test::memory_estimate("workload", "norm", "norm", names), 4 * 2000 + 2 * 4000);
}

TEST(AttentionMemory, IsItsTensorsAndWhatTheVariantAdds) {
  const Names names = {{"batch", test::integer(8)},
                       {"heads", test::integer(1)},
                       {"seq_len", test::integer(1024)},
                       {"d_head", test::integer(64)},
                       {"element_size", test::integer(2)},
                       {"runs_backward", test::integer(1)},
                       {"attention_memory", test::integer(100)}};
  EXPECT_EQ(test::memory_estimate("workload", "attention", "attention", names),
            8.0 * 1024 * 64 * 2 * 8 + 100);
}

TEST(AttentionMemory, FewerHeadsOfKAndVAreSmallerTensors) {
  const Names names = {{"batch", test::integer(1)},         {"heads", test::integer(4)},
                       {"kv_heads", test::integer(1)},      {"seq_len", test::integer(10)},
                       {"d_head", test::integer(10)},       {"element_size", test::integer(4)},
                       {"runs_backward", test::integer(0)}, {"attention_memory", test::integer(0)}};
  EXPECT_EQ(test::memory_estimate("workload", "attention", "attention", names),
            (3 * 4 + 2) * 400.0);
}

// The host divides these by ceilings before anything has run.
TEST(CountFormulas, OfAttentionAreItsCounts) {
  for (const char* precision : {"fp32", "bf16"}) {
    auto tested = test::make_case({"attention", "naive", "rmsnorm", precision});
    for (const bool causal : {true, false}) {
      for (const std::int64_t window : {0, 1, 3, 7, 20}) {
        for (const std::int64_t kv_heads : {0, 2}) {
          tested.context.parameters = {{"batch", test::integer(3)},
                                       {"heads", test::integer(4)},
                                       {"seq_len", test::integer(7)},
                                       {"d_head", test::integer(5)},
                                       {"causal", causal},
                                       {"window", window},
                                       {"kv_heads", kv_heads}};
          test::expect_as_derived(tested, "attention", test::call_passes, {"flops", "bytes"});
        }
      }
    }
  }
}

TEST(CountFormulas, OfNormsAreTheirCounts) {
  for (const char* precision : {"fp32", "bf16"}) {
    for (const bool residual : {true, false}) {
      auto tested = test::make_case({"norm", "naive", "rmsnorm", precision});
      tested.context.parameters = {
          {"rows", test::integer(11)}, {"n_cols", test::integer(24)}, {"residual", residual}};
      test::expect_as_derived(tested, "norm", test::call_passes, {"bytes"});
    }
  }
}

TEST(CountFormulas, OfMatmulAndCopyAreTheirCounts) {
  for (const char* dtype : {"fp64", "fp32", "bf16", "fp16"}) {
    for (const std::int64_t other : {0, 5}) {
      auto tested = test::make_case({"matmul"});
      tested.context.parameters = {{"m", test::integer(3)},
                                   {"n", other},
                                   {"k", test::integer(7)},
                                   {"dtype", std::string(dtype)}};
      test::expect_as_derived(tested, "matmul", {"matmul"}, {"flops", "bytes"});
    }
  }
  auto copy = test::make_case({"copy"});
  copy.context.parameters = {{"size", test::integer(1001)}};
  test::expect_as_derived(copy, "copy", {"copy"}, {"bytes"});
}

TEST(CountFormulas, OfModelsAreTheirCounts) {
  const std::vector<std::string> passes = {"inference",        "forward",    "backward",
                                           "forward_backward", "train_step", "against_fp32"};
  for (const char* architecture : {"swiglu", "gelu"}) {
    for (const std::int64_t kv_heads : {0, 2}) {
      auto tested = test::make_case({"model_step"});
      test::set_model(tested.context, architecture, 3, 12, 32, 80, 3);
      tested.context.presets["model"]["kv_heads"] = kv_heads;
      test::expect_as_derived(tested, "model_step", passes, {"flops"});
    }
  }
  auto toy = test::make_case({"toy_mlp"});
  toy.context.parameters = {{"width", test::integer(24)}, {"batch", test::integer(7)}};
  test::expect_as_derived(toy, "toy_mlp", {"forward", "backward", "forward_backward", "train_step"},
                          {"flops"});
}

}  // namespace
}  // namespace assay
