#include "statistics/median_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "statistics/noise.h"

namespace assay::statistics {
namespace {

TEST(MedianInterval, LiesBetweenOrderStatistics) {
  // 0 … 100 and 100 more: the median is 150. One from below and one from above in turn are
  // anything but correlated. 1.96·√101/2 + ½ = 10.349 places to either side.
  std::vector<double> samples;
  for (int i = 0; i < 50; ++i) {
    samples.push_back(100 + i);
    samples.push_back(200 - i);
  }
  samples.push_back(150);
  EXPECT_NEAR(relative_half_width_of_median(samples, 0.95), 10.349 / 150, 1e-5);
  EXPECT_NEAR(relative_half_width_of_median(samples, 0.99),
              (2.5758 * std::sqrt(101) / 2 + 0.5) / 150, 1e-5);
}

TEST(MedianInterval, TakesTheFartherEnd) {
  // Above the median the samples lie ten times as far apart as below.
  std::vector<double> samples;
  for (int i = 1; i <= 50; ++i) {
    samples.push_back(1000 - i);
    samples.push_back(1000 + 10 * i);
  }
  samples.push_back(1000);
  EXPECT_NEAR(relative_half_width_of_median(samples), 103.49 / 1000, 1e-4);
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
}

// Half of the samples lie on one side and then the other half on the other: that is two
// independent ones.
TEST(MedianInterval, ADriftLeavesNothingKnown) {
  std::vector<double> samples;
  for (int i = 0; i < 200; ++i) samples.push_back(1 + 0.001 * i);
  EXPECT_TRUE(std::isinf(relative_half_width_of_median(samples)));
}

class MedianIntervalUnder : public testing::TestWithParam<test::Noise> {};

// In 95 of 100 cases the median of the distribution is no farther away than the interval says.
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
    // 1900 with a standard deviation of 10; dependent samples tell less of how dependent they are.
    EXPECT_GE(held, noise.correlated ? 1760 : 1870) << n << " samples";
  }
}

INSTANTIATE_TEST_SUITE_P(Noises, MedianIntervalUnder, testing::ValuesIn(test::noises()),
                         test::noise_name);

}  // namespace
}  // namespace assay::statistics
