#include "model/model_config.h"

#include <gtest/gtest.h>

#include <assay/reference.h>
#include <filesystem>
#include <fstream>
#include <string>

#include "model/transformer.h"

namespace assay::model {
namespace {

Options fields(std::int64_t d_model, std::int64_t d_ff, std::int64_t layers, std::int64_t heads) {
  return {{"d_model", d_model},
          {"d_ff", d_ff},
          {"layers", layers},
          {"heads", heads},
          {"vocab_size", std::int64_t{10000}}};
}

// A file of configs/models: lines of `name: number`, and comments.
Options shipped(const std::string& name) {
  Options options;
  std::ifstream file(std::filesystem::path(ASSAY_SOURCE_DIR) / "configs" / "models" /
                     (name + ".yaml"));
  EXPECT_TRUE(file) << name;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    options[line.substr(0, colon)] = std::int64_t{std::stoll(line.substr(colon + 2))};
  }
  return options;
}

struct Size {
  const char* name;
  std::int64_t d_model;
  std::int64_t swiglu;  // parameters
  std::int64_t gelu;    // parameters without the positions
};

// Sizes that the catalogue of writeups states.
const Size sizes[] = {
    {"small", 768, 128'625'408, 92'633'856},      {"medium", 1024, 423'183'360, 312'280'064},
    {"large", 1280, 969'411'840, 720'682'240},    {"xl", 1600, 1'998'235'200, 1'490'715'200},
    {"2.7B", 2560, 3'406'809'600, 2'542'348'800},
};

TEST(ModelConfig, ParameterCountsOfTheShippedSizesAreTheCatalogues) {
  for (const auto& size : sizes) {
    const Options given = shipped(size.name);
    EXPECT_EQ(count_parameters(model_config(given, Architecture::swiglu, 512)), size.swiglu)
        << size.name;
    for (const std::int64_t context : {128, 1024}) {
      EXPECT_EQ(count_parameters(model_config(given, Architecture::gelu, context)),
                size.gelu + size.d_model * context)
          << size.name;
    }
  }
}

TEST(ModelConfig, LayerNormAddsOneBiasANorm) {
  auto config = model_config(fields(768, 3072, 12, 12), Architecture::swiglu, 512);
  config.norm_has_bias = true;
  EXPECT_EQ(count_parameters(config), 128'625'408 + 768 * (2 * 12 + 1));
}

// By hand: k and v of 12 layers are [4 · 64, 768] instead of [768, 768].
TEST(ModelConfig, FewerHeadsOfKAndVAreFewerParametersAndFlops) {
  Options given = fields(768, 3072, 12, 12);
  given["kv_heads"] = std::int64_t{4};
  const auto config = model_config(given, Architecture::swiglu, 512);
  constexpr std::int64_t fewer = 12 * 2 * (768 - 256) * 768;
  EXPECT_EQ(count_parameters(config), 128'625'408 - fewer);
  const auto all = model_config(fields(768, 3072, 12, 12), Architecture::swiglu, 512);
  EXPECT_DOUBLE_EQ(forward_flops(config, 2, 100), forward_flops(all, 2, 100) - 2.0 * 200 * fewer);
  given["kv_heads"] = std::int64_t{0};
  EXPECT_EQ(count_parameters(model_config(given, Architecture::swiglu, 512)), 128'625'408);
}

TEST(ModelConfig, AModelHasTheParametersItCounts) {
  for (const auto architecture : {Architecture::swiglu, Architecture::gelu}) {
    auto config = model_config(fields(16, 24, 3, 4), architecture, 10);
    config.kv_heads = 2;
    const Transformer model(config, reference::operations(false), at::kCPU, at::kFloat, 0);
    std::int64_t count = 0;
    for (const auto& parameter : model.parameters()) count += parameter.tensor.numel();
    EXPECT_EQ(count, count_parameters(config));
  }
}

// By hand: d 2, ff 3, 1 layer, vocabulary 10,000; 1 sequence of 3 tokens.
// Matrices: 4·4 + 3·6 + 20,000 = 20,034; 2 · 3 · 20,034 = 120,204. Pairs: 6, 4 · 2 · 6 = 48.
TEST(ModelConfig, ForwardFlopsOfATinyModel) {
  const auto config = model_config(fields(2, 3, 1, 1), Architecture::swiglu, 3);
  EXPECT_DOUBLE_EQ(forward_flops(config, 1, 3), 120'204 + 48);
}

TEST(ModelConfig, FlopsComeToSixPerParameterAndToken) {
  const auto config = model_config(fields(2560, 10240, 32, 32), Architecture::swiglu, 512);
  const double matrices = 3'406'809'600.0 - 10'000 * 2560;  // without the embedding's look-up
  EXPECT_NEAR(3 * forward_flops(config, 4, 512) / (6 * matrices * 4 * 512), 1, 0.02);
}

struct Wrong {
  const char* what;
  Options given;
  const char* said;
};

class WrongModelConfig : public testing::TestWithParam<Wrong> {};

TEST_P(WrongModelConfig, IsRefusedWithTheReason) {
  try {
    model_config(GetParam().given, Architecture::swiglu, 16);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(GetParam().said), std::string::npos) << error.what();
  }
}

std::string wrong_name(const testing::TestParamInfo<Wrong>& tested) { return tested.param.what; }

INSTANTIATE_TEST_SUITE_P(Fields, WrongModelConfig,
                         testing::Values(Wrong{"missing", {{"d_model", std::int64_t{8}}}, "'d_ff'"},
                                         Wrong{"text",
                                               {{"d_model", std::string("8")},
                                                {"d_ff", std::int64_t{8}}},
                                               "'d_model'"},
                                         Wrong{"zero", fields(8, 8, 0, 2), "'layers' is below 1"},
                                         Wrong{"heads", fields(10, 8, 1, 4), "not a multiple"},
                                         Wrong{"kv_heads",
                                               {{"d_model", std::int64_t{12}},
                                                {"d_ff", std::int64_t{8}},
                                                {"layers", std::int64_t{1}},
                                                {"heads", std::int64_t{6}},
                                                {"vocab_size", std::int64_t{9}},
                                                {"kv_heads", std::int64_t{4}}},
                                               "not a multiple of kv_heads 4"},
                                         Wrong{"odd_head", fields(6, 8, 1, 2), "must be even"}),
                         wrong_name);

TEST(ModelConfig, UnknownArchitectureNamesTheKnownOnes) {
  EXPECT_THROW(architecture_from_text("rnn"), std::invalid_argument);
  EXPECT_EQ(architecture_from_text("gelu"), Architecture::gelu);
}

}  // namespace
}  // namespace assay::model
