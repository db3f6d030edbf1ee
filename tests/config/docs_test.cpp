#include <gtest/gtest.h>

#include "base/text.h"
#include "config/host_parameters.h"
#include "test_catalogue.h"

namespace assay::config {
namespace {

std::string guide() {
  auto text = read_file(ASSAY_SOURCE_DIR "/docs/experiments.md");
  EXPECT_TRUE(text) << text.error().text();
  return text.value_or("");
}

std::vector<std::string> yaml_blocks(const std::string& text) {
  const std::string fence = "```yaml\n";
  std::vector<std::string> blocks;
  for (std::size_t at = 0; (at = text.find(fence, at)) != std::string::npos;) {
    at += fence.size();
    blocks.push_back(text.substr(at, text.find("```", at) - at));
  }
  return blocks;
}

TEST(Guide, ItsExperimentHasTheCasesItSays) {
  const std::vector<std::string> blocks = yaml_blocks(guide());
  ASSERT_FALSE(blocks.empty());
  const auto experiment = parse_experiment(blocks[0], "guide.yaml", test_environment());
  ASSERT_TRUE(experiment) << experiment.error().text();
  EXPECT_EQ(expand(*experiment)->size(), 6u);
}

// The guide's fragments expanded, in its order: nested options, dotted options, exclude, include,
// zip, measure.
TEST(Guide, ItsFragmentsExpandAsItSays) {
  const std::vector<std::string> blocks = yaml_blocks(guide());
  const std::size_t cases[] = {3, 3, 1, 1, 3, 1};
  ASSERT_EQ(blocks.size(), 1 + std::size(cases));
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const std::string& fragment = blocks[i + 1];
    const bool of_model = fragment.find("model:") != std::string::npos ||
                          fragment.find("train_step") != std::string::npos;
    const std::string text = std::string("experiment: a\nworkload: ") +
                             (of_model ? "model_step\n" : "attention\n") + fragment;
    const auto experiment = parse_experiment(text, "guide.yaml", test_environment());
    ASSERT_TRUE(experiment) << experiment.error().text();
    const auto plan = expand(*experiment);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(plan->size(), cases[i]) << fragment;
  }
}

TEST(Guide, NamesEveryHostParameter) {
  const std::string text = guide();
  for (const ParameterInfo& info : host_parameters()) {
    const std::string name = info.name.substr(info.name.find('.') + 1);
    EXPECT_NE(text.find("| `" + name + "` |"), std::string::npos) << info.name;
  }
}

}  // namespace
}  // namespace assay::config
