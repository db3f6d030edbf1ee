#include "statistics/median_interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "statistics/noise.h"

namespace assay::statistics {
namespace {

// 1 … n, alternately from below and above, and so uncorrelated.
std::vector<double> zigzag(int n) {
  std::vector<double> samples;
  for (int i = 0; i < n; ++i) samples.push_back(i % 2 == 0 ? 1 + i / 2 : n - i / 2);
  return samples;
}

// Tables of the sign test's order statistics: n = 6: 1st and 6th; n = 10: 2nd and 9th; n = 20: 6th
// and 15th; n = 100: 40th and 61st.
TEST(MedianInterval, RunsBetweenTheOrderStatisticsOfTheSignTest) {
  for (const auto& [n, low] : {std::pair{6, 1}, {10, 2}, {20, 6}, {100, 40}}) {
    const MedianInterval known = median_interval(zigzag(n));
    EXPECT_EQ(known.median, (n + 1) / 2.0) << n;
    EXPECT_EQ(known.low, low) << n;
    EXPECT_EQ(known.high, n + 1 - low) << n;
    EXPECT_TRUE(known.at_level) << n;
    EXPECT_DOUBLE_EQ(known.relative_reach(), (n + 1 - 2 * low) / 2.0 / known.median) << n;
  }
  EXPECT_NEAR(relative_half_width_of_median(zigzag(10000)), 1.96 * 50 / 5000.5, 1e-3);
}

TEST(MedianInterval, AHigherLevelLiesFartherOut) {
  // 101 coins show at most 37 heads with 0.5 %, at most 40 with 2.5 %: 38 and 41 of 1 … 101.
  EXPECT_DOUBLE_EQ(relative_half_width_of_median(zigzag(101), 0.95), 10.0 / 51);
  EXPECT_DOUBLE_EQ(relative_half_width_of_median(zigzag(101), 0.99), 13.0 / 51);
}

// Samples on the same side come in pairs: of 19 neighbours 10 are on one side and 9 are not. ρ =
// 1/20 and f = 21/19, so that the 4.5 places of 20 samples become 4.73.
TEST(MedianInterval, SamplesThatResembleTheirNeighboursWidenIt) {
  const std::vector<double> zigzag_of_20 = zigzag(20);
  std::vector<double> pairs;
  for (int i = 0; i < 20; i += 4) {
    for (const int j : {0, 2, 1, 3}) pairs.push_back(zigzag_of_20[static_cast<std::size_t>(i + j)]);
  }
  const MedianInterval known = median_interval(pairs);
  EXPECT_NEAR(known.low, 10.5 - 4.5 * std::sqrt(21.0 / 19), 1e-12);
  EXPECT_NEAR(known.high, 10.5 + 4.5 * std::sqrt(21.0 / 19), 1e-12);
}

TEST(MedianInterval, OneOutlierOfNineDoesNotMoveIt) {
  std::vector<double> samples = zigzag(9);
  const MedianInterval before = median_interval(samples);
  *std::max_element(samples.begin(), samples.end()) = 1e9;
  EXPECT_EQ(median_interval(samples).high, before.high);
  EXPECT_EQ(before.high, 8);
}

TEST(MedianInterval, OfTooFewSamplesItIsAllThatTheyReach) {
  const MedianInterval known = median_interval(std::vector<double>{3, 1, 2, 8, 4});
  EXPECT_FALSE(known.at_level);
  EXPECT_EQ(known.low, 1);
  EXPECT_EQ(known.high, 8);
  EXPECT_DOUBLE_EQ(known.relative_reach(), 5.0 / 3);
  EXPECT_EQ(median_interval(std::vector<double>{4}).low, 4);
}

TEST(MedianInterval, TakesTheFartherEnd) {
  // Above the median the samples lie ten times as far apart as below.
  std::vector<double> samples;
  for (int i = 1; i <= 50; ++i) {
    samples.push_back(1000 - i);
    samples.push_back(1000 + 10 * i);
  }
  samples.push_back(1000);
  EXPECT_NEAR(relative_half_width_of_median(samples), 100.0 / 1000, 1e-12);
}

TEST(MedianInterval, TooFewSamplesSayNothing) {
  // Five samples are all on one side of the median in 2 of 32 cases, six in 2 of 64.
  EXPECT_TRUE(std::isinf(relative_half_width_of_median(std::vector<double>(5, 1.0))));
  EXPECT_EQ(relative_half_width_of_median(std::vector<double>(6, 1.0)), 0);
  EXPECT_TRUE(std::isinf(relative_half_width_of_median(std::vector<double>(6, 1.0), 0.99)));
}

TEST(MedianInterval, OfNothingAndOfNaN) {
  EXPECT_TRUE(std::isnan(relative_half_width_of_median({})));
  EXPECT_TRUE(std::isnan(relative_half_width_of_median(std::vector<double>{1, std::nan(""), 2})));
  EXPECT_TRUE(std::isinf(relative_half_width_of_median(std::vector<double>(10, 0.0))));
  EXPECT_TRUE(std::isnan(median_interval({}).low));
}

// One half of the samples lies on one side, then the other half on the other: two independent ones.
TEST(MedianInterval, ADriftLeavesNothingKnown) {
  std::vector<double> samples;
  for (int i = 0; i < 200; ++i) samples.push_back(1 + 0.001 * i);
  EXPECT_TRUE(std::isinf(relative_half_width_of_median(samples)));
}

class MedianIntervalUnder : public testing::TestWithParam<test::Noise> {};

// The interval holds the distribution's median in 95 of 100 cases.
TEST_P(MedianIntervalUnder, HoldsWhatItSays) {
  const test::Noise& noise = GetParam();
  constexpr int experiments = 2000;
  for (const int n : {10, 30, 100}) {
    int held = 0;
    for (int experiment = 0; experiment < experiments; ++experiment) {
      auto draw = noise.start(static_cast<std::uint64_t>(experiment));
      std::vector<double> samples;
      for (int i = 0; i < n; ++i) samples.push_back(draw());
      const double found = test::median_of(samples);
      held += std::abs(noise.median - found) <= relative_half_width_of_median(samples) * found;
    }
    // 1900 with a standard deviation of 10; correlated samples estimate their correlation badly.
    EXPECT_GE(held, noise.correlated ? 1760 : 1870) << n << " samples";
  }
}

INSTANTIATE_TEST_SUITE_P(Noises, MedianIntervalUnder, testing::ValuesIn(test::noises()),
                         test::noise_name);

}  // namespace
}  // namespace assay::statistics
