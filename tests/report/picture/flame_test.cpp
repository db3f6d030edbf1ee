#include "report/picture/flame.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "rendering.h"

namespace assay::report {
namespace {

TEST(Flame, StacksThatBeginAlikeShareTheirFrames) {
  const auto frames = flame_frames(
      {{{"step", "a"}, 2}, {{"step", "b"}, 3}, {{"step"}, 1}, {{"other"}, 4}, {{"step", "a"}, 5}});
  ASSERT_EQ(frames.size(), 4u);
  const auto text = [&](std::size_t i) {
    return frames[i].stack + " " + std::to_string(frames[i].depth) + " " +
           std::to_string(static_cast<int>(frames[i].start)) + " " +
           std::to_string(static_cast<int>(frames[i].value));
  };
  EXPECT_EQ(text(0), "step 0 0 11");
  EXPECT_EQ(text(1), "step;a 1 0 7");
  EXPECT_EQ(text(2), "step;b 1 7 3");
  EXPECT_EQ(text(3), "other 0 11 4");
}

TEST(Flame, AFrameInsideOneOfItsNameCountsWithIt) {
  const auto frames = flame_frames({{{"f", "g", "f"}, 2}, {{"f"}, 1}, {{"h", "f"}, 4}});
  const FrameShare share = share_of(frames, "f");
  EXPECT_EQ(share.count, 2);
  EXPECT_DOUBLE_EQ(share.value, 7);
}

class Flames : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("assay_flames_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string rendered(const std::string& json_lines, const std::string& yaml) {
    const auto run = store::import_text(json_lines, "stacks.jsonl");
    if (!run) return "IMPORT " + run.error().text();
    Inputs inputs;
    inputs.sources = {&*run};
    inputs.with_context = false;
    inputs.folder = folder_;
    inputs.spec = *yaml::parse(yaml, "spec.yaml");
    const auto document = build(inputs);
    return document ? *to_markdown(*document) : "ERROR " + document.error().text();
  }

  std::string file(const std::string& name) const {
    const auto text = read_file((folder_ / name).string());
    return text ? *text : text.error().text();
  }

  std::filesystem::path folder_;
};

std::string stack(const std::string& part, const std::string& samples_s,
                  const std::string& model = "toy") {
  return R"({"case":{"model":")" + model + R"("},"pass":"train_step","metric":"time","part":")" +
         part + R"(","unit":"s","samples":)" + samples_s + "}\n";
}

// Two blocks of 3 and 5 ms with a norm of 1 ms each, and 2 ms outside: 10 ms.
const std::string two_blocks = stack("block 0;linear", "[0.002]") +
                               stack("block 0;norm", "[0.001]") +
                               stack("block 1;linear", "[0.003, 0.005]") +
                               stack("block 1;norm", "[0.001]") + stack("optimizer", "[0.002]");

TEST_F(Flames, AreDrawnWithTheirSharesBelow) {
  const std::string text = rendered(two_blocks, "- flame: {shares: [norm]}");
  EXPECT_NE(text.find("![Flame graph](flame-1.svg)"), std::string::npos) << text;
  EXPECT_NE(text.find("| norm    |        2 |           1 |      10.00 |          2 |     20.00 |"),
            std::string::npos)
      << text;
  EXPECT_EQ(file("flame-1.csv"),
            "stack,depth,start,value\n"
            "block 0,0,0,3\n"
            "block 0;linear,1,0,2\n"
            "block 0;norm,1,2,1\n"
            "block 1,0,3,5\n"
            "block 1;linear,1,3,4\n"
            "block 1;norm,1,7,1\n"
            "optimizer,0,8,2\n");
  const std::string svg = file("flame-1.svg");
  EXPECT_NE(svg.find("block 0"), std::string::npos);
  EXPECT_NE(svg.find("time [ms]"), std::string::npos);
}

TEST_F(Flames, SeriesOfTheWholePassAreNoStacks) {
  rendered(two_blocks + stack("", "[0.5]"), "- flame: {}");
  EXPECT_NE(file("flame-1.csv").find("optimizer,0,8,2"), std::string::npos);
}

TEST_F(Flames, AreOfOneCaseEach) {
  const std::string models = stack("a", "[0.001]", "small") + stack("a", "[0.002]", "large");
  EXPECT_NE(rendered(models, "- flame: {}").find("the chosen ones differ in model (small, large)"),
            std::string::npos);
  const std::string each = rendered(models, "- flame: {for_each: [model]}");
  EXPECT_NE(each.find("![small](flame-1.svg)"), std::string::npos) << each;
  EXPECT_NE(each.find("![large](flame-2.svg)"), std::string::npos) << each;
}

TEST_F(Flames, AFrameThatDoesNotExistIsRefusedWithItsPlace) {
  const std::string text = rendered(two_blocks, "- flame:\n    shares: [norms]");
  EXPECT_NE(text.find("spec.yaml:2:14: no frame is called 'norms'"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean 'norm'"), std::string::npos) << text;
}

TEST_F(Flames, AUnitOfAnotherKindIsRefused) {
  EXPECT_NE(rendered(two_blocks, "- flame: {unit: GiB}")
                .find("time is measured in s, which 'GiB' cannot show"),
            std::string::npos);
}

TEST_F(Flames, OfAFailedCaseSayWhy) {
  const std::string failed =
      R"({"case":{"model":"toy"},"pass":"train_step","metric":"time","part":"","unit":"s","outcome":"oom","reason":"needs 9 GiB"})";
  EXPECT_NE(rendered(failed, "- flame: {}").find("No flame graph: oom: needs 9 GiB."),
            std::string::npos);
}

}  // namespace
}  // namespace assay::report
