// What stands first, what is folded, and how it is said.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>

#include "rendering.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_support::markdown;

TEST(Claims, SayHowMuchSlowerNeverASmallShare) {
  // Each mean is known to ± 0.1 standard errors of 3 samples: 5 and 7 ms.
  const std::string text = markdown(
      "attention,pass,time.mean [ms],time.std [ms],time.n\n"
      "naive,forward,5,0.15,9\nonline,forward,7,0.15,9\n",
      "- findings: [speedup]");
  EXPECT_EQ(text, "- **online is 1.4× slower than naive**, forward (1.37–1.43×).\n");
}

TEST(Claims, StandByTheirEffectWithFailuresLast) {
  const std::string text = markdown(
      "attention,pass,time.mean [ms],outcome\nnaive,forward,8,\nflash,forward,4,\n"
      "online,forward,1,\ntiled,forward,16,\nlazy,forward,,oom\n",
      "- findings: [failures, speedup]");
  EXPECT_THAT(text, StartsWith("- **online is 8× faster than naive**, forward.\n"
                               "- **flash is 2× faster than naive**, forward.\n"
                               "- **tiled is 2× slower than naive**, forward.\n"
                               "- **oom**: 1 of 5 results"));
}

TEST(Claims, AreSevenAtMostTheOthersFolded) {
  std::string csv = "attention,pass,time.mean [ms]\nnaive,forward,100\n";
  for (int i = 1; i <= 9; ++i) csv += fmt::format("v{},forward,{}\n", i, 10 * i);
  const std::string text = markdown(csv, "- findings: [speedup]");
  const std::size_t fold = text.find("<details>");
  ASSERT_NE(fold, std::string::npos) << text;
  const std::string shown = text.substr(0, fold);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 8) << text;
  EXPECT_THAT(shown, HasSubstr("**v7 is 1.43× faster than naive**"));
  EXPECT_THAT(shown, Not(HasSubstr("v8")));
  EXPECT_THAT(text.substr(fold), HasSubstr("- **v9 is 1.11× faster than naive**, forward.\n"));
}

TEST(Claims, NameTheBestValueOfAnOption) {
  const std::string csv =
      "attention,attention.block,seq_len,pass,time.mean [ms],time.std [ms],time.n\n"
      "flash,32,128,forward,4,0.1,9\nflash,64,128,forward,2,0.1,9\nflash,128,128,forward,3,0.1,9\n"
      "flash,32,256,forward,16,0.1,9\nflash,64,256,forward,8,0.1,9\n"
      "flash,128,256,forward,12,0.1,9\n";
  EXPECT_EQ(markdown(csv, "- findings: [speedup]"),
            "- **best block: 64** for flash, forward: 1.5× faster than 128 (geometric mean of 2 "
            "cases).\n");
}

TEST(Claims, NameEveryOptionThatIsAsGoodWithinTheNoise) {
  const std::string csv =
      "attention,attention.block,pass,time.mean [ms],time.std [ms],time.n\n"
      "flash,32,forward,4,0.3,9\nflash,64,forward,2,0.3,9\nflash,128,forward,2.05,0.3,9\n";
  EXPECT_EQ(markdown(csv, "- findings: [speedup]"),
            "- **best block: 64 or 128** for flash, forward: 2× faster than 32.\n");
}

TEST(Claims, OfOptionsWithoutADifferenceThereAreNone) {
  EXPECT_THAT(markdown("attention,attention.block,pass,time.mean [ms],time.std [ms],time.n\n"
                       "flash,32,forward,2,0.3,9\nflash,64,forward,2.05,0.3,9\n",
                       "- findings: [speedup]"),
              Not(HasSubstr("best")));
}

// Each further point is a constant effort: with a fit anew of all points this takes minutes.
TEST(Scaling, ACurveOfManyPointsIsFollowedToItsBeginning) {
  std::string csv = "seq_len,pass,time.mean [ms]\n";
  for (int n = 1; n <= 100'000; ++n) {
    csv += fmt::format("{},forward,{:.12g}\n", n, 1e-3 * std::pow(n, 1.5));
  }
  EXPECT_THAT(markdown(csv, "- findings: [scaling]"),
              HasSubstr("**forward time grows as seq_len^1.50** from 1 to 100,000."));
}

// Launches take 20 us: the times up to 1024 are theirs, the rest grows as the square.
TEST(Scaling, IsOfTheLengthsWhoseTimeIsTheWorks) {
  const std::string text = markdown(
      "d_head,seq_len,pass,time.mean [us]\n"
      "16,256,forward,20\n16,1024,forward,21\n16,4096,forward,160\n16,8192,forward,640\n"
      "16,16384,forward,2560\n"
      "64,256,forward,20\n64,1024,forward,60\n64,4096,forward,320\n64,8192,forward,1200\n"
      "64,16384,forward,4800\n",
      "- findings: [scaling]");
  EXPECT_THAT(text, StartsWith("- **forward time grows as seq_len^1.98** from 4096 to 16,384 (1.95 "
                               "at d_head 64 to 2.00 at d_head 16).\n"));
}

TEST(Scaling, OfWhatWasThereBeforeOrIsLinearThereIsNone) {
  std::string linear = "cols,pass,time.mean [us],memory_before.mean [MiB]\n";
  for (const int cols : {1024, 4096, 16384, 65536}) {
    linear += fmt::format("{},forward,{},{}\n", cols, cols, cols * 2);
  }
  EXPECT_THAT(markdown(linear, "- findings: [scaling]"), HasSubstr("support none"));
}

TEST(Scaling, OfOneThatIsLinearBesideAnotherItSaysSo) {
  std::string csv = "seq_len,attention,pass,peak_memory.mean [MiB]\n";
  for (const int length : {1024, 2048, 4096}) {
    csv += fmt::format("{0},naive,forward,{1}\n{0},flash,forward,{0}\n", length,
                       length * length / 1024);
  }
  const std::string text = markdown(csv, "- findings: [scaling]");
  EXPECT_THAT(text, HasSubstr("**forward peak_memory, naive grows as seq_len^2.00**"));
  EXPECT_THAT(text, HasSubstr("**forward peak_memory, flash grows as seq_len^1.00**"));
}

}  // namespace
}  // namespace assay::report
