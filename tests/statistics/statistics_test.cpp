#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "statistics/bootstrap.h"
#include "statistics/line_fit.h"
#include "statistics/quantiles.h"
#include "statistics/sample_order.h"
#include "statistics/summary.h"

namespace assay::statistics {
namespace {

TEST(Percentile, InterpolatesAsNumpyDocumentsIt) {
  // numpy.percentile([[10, 7, 4], [3, 2, 1]], 50) is 3.5 in its reference.
  const std::vector<double> samples{1, 2, 3, 4, 7, 10};
  EXPECT_DOUBLE_EQ(percentile(samples, 50), 3.5);
  // h = 5·0.05 = 0.25 and h = 5·0.95 = 4.75, worked by hand.
  EXPECT_DOUBLE_EQ(percentile(samples, 5), 1.25);
  EXPECT_DOUBLE_EQ(percentile(samples, 95), 7 + 0.75 * 3);
  EXPECT_DOUBLE_EQ(percentile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(percentile(samples, 100), 10);
}

TEST(Percentile, OfFewSamples) {
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{5}, 95), 5);
  EXPECT_TRUE(std::isnan(percentile({}, 50)));
}

TEST(Percentile, IsNotDisturbedByAnInfinityItDoesNotReach) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{1, 2, infinity}, 50), 2);
  EXPECT_EQ(percentile(std::vector<double>{1, infinity, infinity}, 75), infinity);
}

TEST(Median, OfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median(std::vector<double>{9, 1, 4, 2}), 3);
  EXPECT_EQ(median(std::vector<double>{9, 1, 4}), 4);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Summarise, HandWorkedFigures) {
  // Mean 5, squared deviations 9+1+1+1+0+0+4+16 = 32: population std 2, sample std sqrt(32/7).
  const Summary summary = summarise(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(summary.n, 8u);
  EXPECT_DOUBLE_EQ(summary.mean, 5);
  EXPECT_DOUBLE_EQ(summary.std_population, 2);
  EXPECT_DOUBLE_EQ(summary.std_sample, std::sqrt(32.0 / 7.0));
  EXPECT_DOUBLE_EQ(summary.median, 4.5);
  EXPECT_DOUBLE_EQ(summary.q1, 4);
  EXPECT_DOUBLE_EQ(summary.q3, 5.5);
  EXPECT_DOUBLE_EQ(summary.iqr, 1.5);
  EXPECT_DOUBLE_EQ(summary.min, 2);
  EXPECT_DOUBLE_EQ(summary.max, 9);
}

TEST(Summarise, OrderOfSamplesDoesNotMatter) {
  const Summary summary = summarise(std::vector<double>{3, 1, 2});
  EXPECT_DOUBLE_EQ(summary.median, 2);
  EXPECT_DOUBLE_EQ(summary.min, 1);
  EXPECT_DOUBLE_EQ(summary.max, 3);
}

TEST(Summarise, OneSampleHasNoSampleDeviation) {
  const Summary summary = summarise(std::vector<double>{3});
  EXPECT_DOUBLE_EQ(summary.mean, 3);
  EXPECT_DOUBLE_EQ(summary.std_population, 0);
  EXPECT_TRUE(std::isnan(summary.std_sample));
}

TEST(Summarise, NothingAndNaNGiveNaN) {
  for (const auto& samples : {std::vector<double>{}, std::vector<double>{1, std::nan(""), 2}}) {
    const Summary summary = summarise(samples);
    EXPECT_EQ(summary.n, samples.size());
    EXPECT_TRUE(std::isnan(summary.mean));
    EXPECT_TRUE(std::isnan(summary.median));
    EXPECT_TRUE(std::isnan(summary.max));
  }
}

TEST(Bootstrap, TheSameSeedGivesTheSameInterval) {
  const std::vector<double> samples{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const Interval first = bootstrap_mean(samples, 7);
  const Interval again = bootstrap_mean(samples, 7);
  const Interval other = bootstrap_mean(samples, 8);
  EXPECT_EQ(first.low, again.low);
  EXPECT_EQ(first.high, again.high);
  EXPECT_TRUE(first.low != other.low || first.high != other.high);
}

TEST(Bootstrap, ItsWidthIsThatOfTheNormalApproximation) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal(10, 2);
  std::vector<double> samples(400);
  for (double& sample : samples) sample = normal(generator);
  const Summary summary = summarise(samples);
  const Interval interval = bootstrap_mean(samples, 3, 4000);
  const double half_width = 1.96 * summary.std_population / std::sqrt(400.0);
  EXPECT_NEAR(interval.low, summary.mean - half_width, 0.1 * half_width);
  EXPECT_NEAR(interval.high, summary.mean + half_width, 0.1 * half_width);
}

// Of 300 sets drawn from a population whose mean is 0, about 95 % of the intervals must hold it; 88
// % to 99 % is more than four standard errors on either side of what 30 samples reach.
TEST(Bootstrap, CoversTheTruth) {
  std::mt19937_64 generator(2);
  std::normal_distribution<double> normal(0, 1);
  int mean_covered = 0;
  constexpr int sets = 300;
  for (int set = 0; set < sets; ++set) {
    std::vector<double> samples(30);
    for (double& sample : samples) sample = normal(generator);
    const Interval mean = bootstrap_mean(samples, 5, 500);
    mean_covered += mean.low <= 0 && 0 <= mean.high ? 1 : 0;
  }
  EXPECT_GT(mean_covered, 0.88 * sets);
  EXPECT_LT(mean_covered, 0.99 * sets);
}

TEST(Bootstrap, AWiderLevelIsAWiderInterval) {
  const std::vector<double> samples{1, 2, 3, 4, 5, 60, 7, 8, 9, 10};
  const Interval narrow = bootstrap_mean(samples, 1, 2000, 0.5);
  const Interval wide = bootstrap_mean(samples, 1, 2000, 0.99);
  EXPECT_LT(wide.low, narrow.low);
  EXPECT_GT(wide.high, narrow.high);
}

TEST(Bootstrap, OfFewSamples) {
  const Interval one = bootstrap_mean(std::vector<double>{4}, 1);
  EXPECT_EQ(one.low, 4);
  EXPECT_EQ(one.high, 4);
  EXPECT_TRUE(std::isnan(bootstrap_mean({}, 1).low));
  EXPECT_TRUE(std::isnan(bootstrap_mean(std::vector<double>{1, std::nan("")}, 1).high));
}

TEST(SampleOrder, HandWorkedFigures) {
  // Deviations −2 −1 0 1 2: products 2 + 0 + 0 + 2 over squares 10. All 10 pairs ascend, the
  // variance of S is 5·4·15/18 = 50/3: z = 9/√(50/3) = 2.2045, two-sided p 0.0275.
  const SampleOrder rising = examine_order(std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(rising.autocorrelation, 0.4);
  EXPECT_DOUBLE_EQ(rising.drift, 4);
  EXPECT_NEAR(rising.trend_p, 0.0275, 5e-5);
  EXPECT_FALSE(rising.drifting);
  EXPECT_FALSE(rising.autocorrelated);
}

TEST(SampleOrder, TiesReduceTheVarianceOfTheTrend) {
  // 8 pairs ascend, 2 are equal; (300 − 2·18)/18 = 44/3: z = 7/√(44/3) = 1.8278, p 0.0676.
  EXPECT_NEAR(examine_order(std::vector<double>{1, 1, 2, 2, 3}).trend_p, 0.0676, 5e-5);
  // The reverse, and a shuffle with as many ascending as descending pairs.
  EXPECT_NEAR(examine_order(std::vector<double>{3, 2, 2, 1, 1}).trend_p, 0.0676, 5e-5);
  EXPECT_DOUBLE_EQ(examine_order(std::vector<double>{2, 1, 3, 2}).trend_p, 1);
}

TEST(SampleOrder, ATrendOfAtLeastOnePerCentIsADrift) {
  // S = 45, variance 125, z = 44/√125 = 3.94; the thirds are 1 2 3 and 8 9 10.
  const SampleOrder steep = examine_order(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_DOUBLE_EQ(steep.drift, 3.5);
  EXPECT_NEAR(steep.trend_p, 8.3e-5, 1e-6);
  EXPECT_TRUE(steep.drifting);
  std::vector<double> flat(1000);
  for (std::size_t i = 0; i < flat.size(); ++i) flat[i] = 1 + 5e-6 * static_cast<double>(i);
  const SampleOrder slight = examine_order(flat);
  EXPECT_LT(slight.trend_p, 1e-6);
  EXPECT_FALSE(slight.drifting);
}

TEST(SampleOrder, AlternatingSamplesAreAutocorrelatedAndDoNotDrift) {
  std::vector<double> samples;
  for (int i = 0; i < 50; ++i) samples.insert(samples.end(), {1.0, 2.0});
  const SampleOrder order = examine_order(samples);
  EXPECT_DOUBLE_EQ(order.autocorrelation, -0.99);
  EXPECT_TRUE(order.autocorrelated);
  EXPECT_FALSE(order.drifting);
}

TEST(SampleOrder, IsNotDefinedForFewEqualOrInfiniteSamples) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& samples : std::vector<std::vector<double>>{
           {}, {1, 2}, {3, 3, 3, 3}, {1, std::nan(""), 2}, {1, infinity, 2}}) {
    const SampleOrder order = examine_order(samples);
    EXPECT_TRUE(std::isnan(order.autocorrelation));
    EXPECT_TRUE(std::isnan(order.drift));
    EXPECT_TRUE(std::isnan(order.trend_p));
    EXPECT_FALSE(order.autocorrelated || order.drifting);
  }
}

TEST(SampleOrder, NeitherUnitNorDirectionOfTimeMatter) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal(10, 1);
  for (int set = 0; set < 50; ++set) {
    std::vector<double> samples(21);
    for (double& sample : samples) sample = normal(generator);
    const SampleOrder order = examine_order(samples);
    std::vector<double> scaled = samples;
    for (double& sample : scaled) sample *= 1024;
    EXPECT_DOUBLE_EQ(examine_order(scaled).autocorrelation, order.autocorrelation);
    EXPECT_DOUBLE_EQ(examine_order(scaled).drift, order.drift);
    const SampleOrder back = examine_order(std::vector<double>(samples.rbegin(), samples.rend()));
    EXPECT_NEAR(back.autocorrelation, order.autocorrelation, 1e-12);
    EXPECT_DOUBLE_EQ(back.trend_p, order.trend_p);
    EXPECT_NEAR((1 + back.drift) * (1 + order.drift), 1, 1e-12);
  }
}

// About 10 of 1000 series of independent samples are marked; 25 is 4.8 standard errors above.
TEST(SampleOrder, IndependentSamplesAreSeldomMarked) {
  std::mt19937_64 generator(4);
  std::normal_distribution<double> normal(100, 10);
  for (const std::size_t n : {10u, 30u, 200u}) {
    int autocorrelated = 0, trending = 0;
    for (int set = 0; set < 1000; ++set) {
      std::vector<double> samples(n);
      for (double& sample : samples) sample = normal(generator);
      const SampleOrder order = examine_order(samples);
      autocorrelated += order.autocorrelated ? 1 : 0;
      trending += order.trend_p < 0.01 ? 1 : 0;
    }
    EXPECT_LE(autocorrelated, 25) << n;
    EXPECT_LE(trending, 25) << n;
  }
}

// Correlated samples wander without a trend: uncorrected, 11 to 39 of 100 such series would have
// one. A trend of three standard deviations is still found in most.
TEST(SampleOrder, CorrelatedSamplesSeldomHaveATrend) {
  constexpr int sets = 500;
  for (const double correlation : {0.5, 0.8}) {
    for (const std::size_t n : {30u, 100u, 300u}) {
      std::mt19937_64 generator(n);
      std::normal_distribution<double> normal(0, 1);
      int trending = 0, found = 0;
      for (int set = 0; set < sets; ++set) {
        double state = normal(generator);
        std::vector<double> samples(n), rising(n);
        for (std::size_t t = 0; t < n; ++t) {
          samples[t] = 100 + state;
          rising[t] = samples[t] + 3.0 * static_cast<double>(t) / static_cast<double>(n);
          state =
              correlation * state + std::sqrt(1 - correlation * correlation) * normal(generator);
        }
        trending += examine_order(samples).trend_p < 0.01 ? 1 : 0;
        found += examine_order(rising).trend_p < 0.01 ? 1 : 0;
      }
      EXPECT_LE(trending, 0.06 * sets) << n << ", " << correlation;
      EXPECT_GE(found, n >= 100 ? 0.5 * sets : 0) << n << ", " << correlation;
    }
  }
}

TEST(SampleOrder, CorrelationAndDriftAreFoundInNoise) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal(0, 1);
  int autocorrelated = 0, drifting = 0;
  for (int set = 0; set < 100; ++set) {
    std::vector<double> following(100), rising(50);
    double last = normal(generator);
    for (double& sample : following) sample = 100 + (last = 0.8 * last + 0.6 * normal(generator));
    for (std::size_t i = 0; i < rising.size(); ++i) {
      rising[i] = 100 + 0.1 * static_cast<double>(i) + normal(generator);
    }
    autocorrelated += examine_order(following).autocorrelated ? 1 : 0;
    drifting += examine_order(rising).drifting ? 1 : 0;
  }
  EXPECT_GE(autocorrelated, 99);
  EXPECT_GE(drifting, 95);
}

// Points on y = 3 − 2x, but for one. R² by hand: xy²/(xx·yy) of x −1.5 … 1.5, y 3, 1, −1, 1.
TEST(RunningLine, IsTheLineOfAllPointsSoFar) {
  RunningLine line;
  line.add(0, 3);
  line.add(1, 1);
  EXPECT_DOUBLE_EQ(line.fit().slope, -2);
  EXPECT_DOUBLE_EQ(line.fit().r2, 1);
  line.add(2, -1);
  line.add(3, 1);
  EXPECT_DOUBLE_EQ(line.fit().slope, -0.8);
  EXPECT_DOUBLE_EQ(line.fit().r2, 0.4);
  RunningLine flat;
  for (const double x : {1.0, 2.0, 3.0}) flat.add(x, 0.1);
  EXPECT_EQ(flat.fit().slope, 0);
  EXPECT_EQ(flat.fit().r2, 0);
}

TEST(RelativeLine, GoesThroughPointsOfAnySize) {
  const std::vector<double> x{1e3, 1e6, 1e9}, y{11e-6 + 1e-8, 11e-6 + 1e-5, 11e-6 + 1e-2};
  const Line line = fit_relative_line(x, y);
  EXPECT_NEAR(line.intercept, 11e-6, 1e-16);
  EXPECT_NEAR(line.slope, 1e-11, 1e-22);
}

// Weights 9, 4, 1 (of 1/4, 1/9, 1/36): Σw 14, Σwx 21, Σwy 36, Σwxx 41, Σwxy 66, so that the slope
// is (14 · 66 − 21 · 36) / (14 · 41 − 21²) = 168/133 and the intercept (36 − 168/133 · 21) / 14.
TEST(RelativeLine, WeighsDeviationsByTheirShare) {
  const Line line = fit_relative_line(std::vector<double>{1, 2, 4}, std::vector<double>{2, 3, 6});
  EXPECT_NEAR(line.slope, 168.0 / 133, 1e-12);
  EXPECT_NEAR(line.intercept, 90.0 / 133, 1e-12);
}

}  // namespace
}  // namespace assay::statistics
