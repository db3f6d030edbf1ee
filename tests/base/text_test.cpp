#include "base/text.h"

#include <gtest/gtest.h>

#include "base/renamed_variants.h"

namespace assay {
namespace {

const std::vector<std::string> kinds = {"attention", "norm", "precision", "communication"};

TEST(Nearest, FindsMisspellings) {
  EXPECT_EQ(nearest("atention", kinds), "attention");    // a letter left out
  EXPECT_EQ(nearest("attenntion", kinds), "attention");  // one too many
  EXPECT_EQ(nearest("nrom", kinds), "norm");             // two swapped count as one
  EXPECT_EQ(nearest("Precision", kinds), "precision");
}

TEST(Nearest, LeavesOtherWordsAlone) {
  EXPECT_EQ(nearest("banana", kinds), std::nullopt);
  EXPECT_EQ(nearest("", kinds), std::nullopt);
  EXPECT_EQ(nearest("norm", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'n'), kinds), std::nullopt);
}

TEST(Nearest, PrefersTheClosest) { EXPECT_EQ(nearest("fp17", {"bf16", "fp16"}), "fp16"); }

TEST(Suggestion, NamesTheNearestAndAllThatAreKnown) {
  EXPECT_EQ(suggestion("nrom", {"norm", "compile"}), "; did you mean 'norm'? known: norm, compile");
  EXPECT_EQ(suggestion("zzz", {"norm", "compile"}), "; known: norm, compile");
  EXPECT_EQ(suggestion("zzz", {}), "");
}

TEST(SplitAndJoin, AreInverse) {
  for (const char* text : {"", ",", "a", "a,b", ",a,,b,"}) {
    EXPECT_EQ(join(split(text, ','), ","), text);
  }
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
}

TEST(Trim, TakesBlanksOffBothEnds) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(VariantSuggestion, NamesTheNewWordOfARenamedVariant) {
  const std::vector<std::string> known = {"naive", "math_libtorch"};
  EXPECT_EQ(variant_suggestion("attention", "math", known), "; it is now called 'math_libtorch'");
  EXPECT_EQ(variant_suggestion("norm", "math", known), suggestion("math", known));
  EXPECT_EQ(variant_suggestion("attention", "cudnn", known), "; it is now called 'cudnn_libtorch'");
  EXPECT_EQ(variant_suggestion("attention", "flash", {"flash_libtorch"}),
            "; it is now called 'flash_libtorch'");
  EXPECT_EQ(variant_suggestion("attention", "flash", known), suggestion("flash", known))
      << "the project's own may be meant";
  EXPECT_EQ(name_now("attention", "flash_hopper"), "flash");
  EXPECT_EQ(name_now("attention", "naive"), "");
}

TEST(DisplayWidth, CountsCodePoints) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("1.5 ± 0.2"), 9u);
  EXPECT_EQ(display_width("✓"), 1u);
}

}  // namespace
}  // namespace assay
