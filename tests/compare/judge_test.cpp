#include "compare/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "statistics/bootstrap.h"

namespace assay::compare {
namespace {

using Samples = std::vector<double>;

// Times about `median` whose logarithms have deviation `spread` and lag-1 correlation
// `correlation`.
class Machine {
 public:
  explicit Machine(std::uint64_t seed) : generator_(seed) {}

  Samples measure(std::size_t n, double median, double spread, double correlation = 0) {
    Samples samples(n);
    double state = normal_(generator_);
    for (double& sample : samples) {
      sample = median * std::exp(spread * state);
      state = correlation * state + std::sqrt(1 - correlation * correlation) * normal_(generator_);
    }
    return samples;
  }

 private:
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
};

bool differs(const Judgement& judgement) {
  return judgement.relation == Relation::lower || judgement.relation == Relation::higher;
}

int count_different(std::size_t n, double spread, double correlation, int pairs,
                    std::uint64_t seed) {
  Machine machine(seed);
  int different = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    const Samples a = machine.measure(n, 1e-3, spread, correlation);
    const Samples b = machine.measure(n, 1e-3, spread, correlation);
    different += differs(judge(a, b, {})) ? 1 : 0;
  }
  return different;
}

// From another implementation of the header's formulas (Student's t by numeric integration).
TEST(Judge, GivesTheFiguresOfItsFormulas) {
  const Samples a{10.1, 9.8, 10.4, 10.0, 9.9, 10.3, 10.2, 9.7, 10.6, 10.05};
  const Samples b{11.0, 11.4, 10.9, 11.3, 11.1, 10.8, 11.5, 11.2, 11.6, 11.05, 10.95, 11.25};
  const Judgement strict = judge(a, b, {});
  EXPECT_EQ(strict.relation, Relation::higher);
  EXPECT_NEAR(strict.ratio, 11.15 / 10.075, 1e-12);
  EXPECT_NEAR(strict.interval.low, 1.0706932837, 1e-6);
  EXPECT_NEAR(strict.interval.high, 1.1439170857, 1e-6);
  EXPECT_NEAR(strict.p, 0.00062455964, 1e-8);
  const Judgement lenient = judge(a, b, {.significance = 0.05});
  EXPECT_NEAR(lenient.interval.low, 1.0885304544, 1e-6);
  EXPECT_NEAR(lenient.interval.high, 1.1251723237, 1e-6);
}

// The noise is ten times the least difference, so that significance alone keeps pairs the same.
TEST(Judge, TheSameThingTwiceIsSeldomDifferent) {
  constexpr int pairs = 2000;
  for (const std::size_t n : {5u, 10u, 20u, 50u, 200u}) {
    for (const double correlation : {0.0, 0.3, 0.6}) {
      EXPECT_LE(count_different(n, 0.1, correlation, pairs, n), 0.02 * pairs)
          << n << " samples, correlation " << correlation;
    }
    if (n > 5) {
      EXPECT_LE(count_different(n, 0.1, 0.8, pairs, n), 0.04 * pairs) << n;
    }
  }
}

TEST(Judge, AnExperimentOfAHundredEqualPairsHasAtMostThreeDifferent) {
  for (const double correlation : {0.0, 0.3, 0.5}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      EXPECT_LE(count_different(30, 0.02, correlation, 100, seed), 3)
          << "correlation " << correlation << ", seed " << seed;
    }
  }
}

// The ordinary method must fail the test above, or the test shows nothing.
TEST(Judge, TheOrdinaryBootstrapWouldCallFarMoreDifferent) {
  Machine machine(1);
  int different = 0;
  for (int pair = 0; pair < 200; ++pair) {
    const auto a = statistics::bootstrap_mean(machine.measure(30, 1, 0.1, 0.8), 1, 300, 0.99);
    const auto b = statistics::bootstrap_mean(machine.measure(30, 1, 0.1, 0.8), 1, 300, 0.99);
    different += a.high < b.low || b.high < a.low ? 1 : 0;
  }
  EXPECT_GT(different, 20);
}

TEST(Judge, FindsShiftsItCanSee) {
  struct Shift {
    std::size_t n;
    double spread;
    double ratio;
    Relation relation;
  };
  for (const Shift& shift :
       {Shift{10, 0.005, 1.05, Relation::higher}, Shift{30, 0.01, 1.05, Relation::higher},
        Shift{30, 0.01, 0.95, Relation::lower}, Shift{100, 0.05, 1.1, Relation::higher},
        Shift{10, 0.02, 2, Relation::higher}}) {
    Machine machine(7);
    int found = 0;
    for (int pair = 0; pair < 200; ++pair) {
      const Samples a = machine.measure(shift.n, 1e-3, shift.spread, 0.3);
      const Samples b = machine.measure(shift.n, shift.ratio * 1e-3, shift.spread, 0.3);
      const Judgement judgement = judge(a, b, {});
      found += judgement.relation == shift.relation ? 1 : 0;
      EXPECT_TRUE(judgement.relation == shift.relation ||
                  judgement.relation == Relation::inconclusive);
    }
    EXPECT_GE(found, 180) << shift.n << " samples, " << shift.ratio;
  }
}

TEST(Judge, ItsIntervalHoldsTheTruth) {
  Machine machine(8);
  int held = 0;
  for (int pair = 0; pair < 500; ++pair) {
    const Samples a = machine.measure(25, 1, 0.05, 0.3);
    const Samples b = machine.measure(40, 1.2, 0.02, 0.3);
    const Judgement judgement = judge(a, b, {});
    held += judgement.interval.low <= 1.2 && 1.2 <= judgement.interval.high ? 1 : 0;
  }
  EXPECT_GE(held, 485);
}

TEST(Judge, CallsSameWhatIsSignificantButTiny) {
  Machine machine(9);
  for (int pair = 0; pair < 20; ++pair) {
    const Samples a = machine.measure(2000, 1e-3, 0.01);
    const Samples b = machine.measure(2000, 1.004e-3, 0.01);
    const Judgement judgement = judge(a, b, {});
    EXPECT_LT(judgement.p, 0.01);
    EXPECT_EQ(judgement.relation, Relation::same);
    EXPECT_EQ(judge(a, b, {.least = 0.001}).relation, Relation::higher);
  }
}

TEST(Judge, SaysInconclusiveInWideNoise) {
  Machine machine(10);
  int inconclusive = 0;
  for (int pair = 0; pair < 100; ++pair) {
    const Samples a = machine.measure(10, 1, 0.2);
    const Samples b = machine.measure(10, 1.05, 0.2);
    const Judgement judgement = judge(a, b, {});
    if (judgement.relation != Relation::inconclusive) continue;
    ++inconclusive;
    EXPECT_NE(judgement.reason.find("too few or too noisy"), std::string::npos);
  }
  EXPECT_GE(inconclusive, 97);
}

TEST(Judge, ALargerEffectIsNeverLessOfADifference) {
  Machine machine(11);
  const Samples a = machine.measure(20, 1, 0.01, 0.3);
  const Samples noise = machine.measure(20, 1, 0.01, 0.3);
  const auto rank = [](Relation relation) {
    return relation == Relation::lower ? -1 : relation == Relation::higher ? 1 : 0;
  };
  int last = -1;
  double width = 0;
  for (double scale = 0.9; scale < 1.1; scale += 0.005) {
    Samples b = noise;
    for (double& sample : b) sample *= scale;
    const Judgement judgement = judge(a, b, {});
    EXPECT_GE(rank(judgement.relation), last) << scale;
    last = rank(judgement.relation);
    const double now = judgement.interval.high / judgement.interval.low;
    if (width > 0) {
      EXPECT_NEAR(now, width, 1e-9);
    }
    width = now;
  }
  EXPECT_EQ(last, 1);
}

TEST(Judge, ExchangingTheSidesMirrorsIt) {
  Machine machine(12);
  for (int pair = 0; pair < 50; ++pair) {
    const Samples a = machine.measure(15, 1, 0.02);
    const Samples b = machine.measure(25, 1.03, 0.02);
    const Judgement forth = judge(a, b, {});
    const Judgement back = judge(b, a, {});
    EXPECT_NEAR(forth.ratio * back.ratio, 1, 1e-12);
    EXPECT_NEAR(forth.interval.low * back.interval.high, 1, 1e-9);
    EXPECT_NEAR(forth.p, back.p, 1e-9);
    EXPECT_EQ(forth.relation == Relation::higher, back.relation == Relation::lower);
    EXPECT_EQ(forth.relation == Relation::same, back.relation == Relation::same);
  }
}

TEST(Judge, AFewOutliersDoNotHideADifference) {
  Machine machine(13);
  Samples a = machine.measure(50, 1, 0.01);
  const Samples b = machine.measure(50, 1.05, 0.01);
  for (const std::size_t i : {3u, 17u, 31u}) a[i] *= 100;
  EXPECT_EQ(judge(a, b, {}).relation, Relation::higher);
}

TEST(Judge, DriftWidensTheInterval) {
  Machine machine(14);
  Samples steady = machine.measure(60, 1, 0.03);
  Samples drifting = steady;
  std::sort(drifting.begin(), drifting.end());
  const Judgement one = judge(steady, steady, {});
  const Judgement other = judge(drifting, drifting, {});
  EXPECT_GT(std::log(other.interval.high), 2 * std::log(one.interval.high));
}

TEST(Judge, WhatDoesNotVaryIsJudgedBySizeAlone) {
  const Samples a(6, 2.0);
  EXPECT_EQ(judge(a, Samples(6, 2.0), {}).relation, Relation::same);
  EXPECT_EQ(judge(a, Samples(6, 2.01), {}).relation, Relation::same);
  const Judgement judgement = judge(a, Samples(6, 2.1), {});
  EXPECT_EQ(judgement.relation, Relation::higher);
  EXPECT_NEAR(judgement.interval.low, 1.05, 1e-12);
  EXPECT_NEAR(judgement.interval.high, 1.05, 1e-12);
}

TEST(Judge, NeedsFivePositiveSamplesASide) {
  const Samples good{1, 1.1, 0.9, 1, 1.05};
  const Judgement few = judge(good, Samples{9, 9.1, 9, 9.2}, {});
  EXPECT_EQ(few.relation, Relation::inconclusive);
  EXPECT_EQ(few.reason, "too few samples: 5 and 4; each side needs 5");
  EXPECT_TRUE(std::isnan(few.ratio));
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    const Judgement judgement = judge(good, Samples{9, 9.1, bad, 9.2, 9}, {});
    EXPECT_EQ(judgement.relation, Relation::inconclusive);
    EXPECT_NE(judgement.reason.find("above 0"), std::string::npos);
  }
}

// 200 similar samples a run, about the run's own level.
Samples runs_at(std::initializer_list<double> levels) {
  Samples all;
  for (const double level : levels) {
    for (int i = 0; i < 200; ++i) all.push_back(level * (1 + 0.0001 * (i * 7 % 25)));
  }
  return all;
}

double half_width(const Judgement& judgement) {
  return std::log(judgement.interval.high / judgement.interval.low) / 2;
}

// Pooled, 600 samples a side would seem to know the median well.
TEST(Judge, RunsThatDifferFromEachOtherWidenTheInterval) {
  const Samples a = runs_at({1.00, 1.04, 1.02});
  const Samples b = runs_at({1.03, 1.07, 1.05});
  const std::vector<std::size_t> runs = {200, 200, 200};
  const Judgement known = judge(Sampled{a, runs}, Sampled{b, runs}, {});
  EXPECT_EQ(known.relation, Relation::inconclusive) << known.p;
  // By hand: the logarithms of A's medians deviate by 0.01961, of B's by 0.01905. The ratio's error
  // is 0.01578; Student's t with 4 degrees reaches 4.604 errors.
  EXPECT_NEAR(half_width(known), 0.0727, 0.001);
  EXPECT_LT(half_width(judge(a, b, {})), 0.01);
}

// Runs of one binary that deviate as assumed, 30 samples each: at most 1 in 100 differs, however
// few runs a side has.
TEST(Judge, CallsEqualSidesOfSeveralRunsSeldomDifferent) {
  constexpr int pairs = 2000;
  for (const std::size_t runs : {2, 3, 5, 8}) {
    for (const double deviation : {0.015, 0.05}) {
      Machine machine(runs);
      const std::vector<std::size_t> sizes(runs, 30);
      Criteria criteria;
      criteria.between_runs = deviation;
      const auto side = [&] {
        Samples all;
        for (const double level : machine.measure(runs, 1, deviation)) {
          for (const double sample : machine.measure(30, level, 0.001)) all.push_back(sample);
        }
        return all;
      };
      int different = 0;
      for (int pair = 0; pair < pairs; ++pair) {
        const Samples a = side(), b = side();
        different += differs(judge(Sampled{a, sizes}, Sampled{b, sizes}, criteria)) ? 1 : 0;
      }
      EXPECT_LE(different, 0.018 * pairs) << runs << " runs, " << deviation;
      EXPECT_GE(different, runs > 2 ? 0.002 * pairs : 0) << runs << " runs, " << deviation;
    }
  }
}

TEST(Judge, TheFigureOfSeveralRunsIsTheGeometricMeanOfTheirMedians) {
  const Samples two = {1, 1, 1, 4, 4, 4, 4, 4};
  EXPECT_DOUBLE_EQ(middle(Sampled{two, std::vector<std::size_t>{3, 5}}), 2);
  EXPECT_DOUBLE_EQ(middle(Sampled{two, std::vector<std::size_t>{8}}), 4);
}

// A single run deviates as runs do, but cannot show it.
TEST(Judge, ASingleRunIsSupposedToDeviate) {
  const Samples a = runs_at({1.00});
  const Samples b = runs_at({1.04});
  const std::vector<std::size_t> run = {200};
  const Judgement supposed = judge(Sampled{a, run}, Sampled{b, run}, {});
  EXPECT_EQ(supposed.relation, Relation::inconclusive);
  // By hand: √2 · 1.5 %, of which the normal distribution reaches 2.576.
  EXPECT_NEAR(half_width(supposed), 0.05464, 0.0005);
  const Samples c = runs_at({1.07});
  EXPECT_EQ(judge(Sampled{a, run}, Sampled{c, run}, {}).relation, Relation::higher);
  Criteria none;
  none.between_runs = 0;
  EXPECT_EQ(judge(Sampled{a, run}, Sampled{b, run}, none).relation, Relation::higher);
}

// The reason is the single run only if its samples alone would have decided.
TEST(Judge, ASingleRunIsBlamedOnlyForWhatItKeepsFromBeingTold) {
  const std::vector<std::size_t> run = {200};
  const Samples a = runs_at({1.00});
  const Samples b = runs_at({1.04});
  EXPECT_THAT(judge(Sampled{a, run}, Sampled{b, run}, {}).reason,
              ::testing::HasSubstr("a single run a side cannot show so small a difference"));
  EXPECT_THAT(judge(Sampled{a, run}, Sampled{a, run}, {}).reason,
              ::testing::HasSubstr("a single run a side cannot show so small a difference"));
  Machine machine(15);
  const Samples noisy = machine.measure(10, 1, 0.2), too = machine.measure(10, 1.05, 0.2);
  const std::vector<std::size_t> short_run = {10};
  const Judgement judgement = judge(Sampled{noisy, short_run}, Sampled{too, short_run}, {});
  EXPECT_EQ(judgement.relation, Relation::inconclusive);
  EXPECT_THAT(judgement.reason, ::testing::HasSubstr("too few or too noisy"));
}

TEST(JudgeCounts, GoesBySize) {
  EXPECT_EQ(judge_counts(100, 100, {}).relation, Relation::same);
  EXPECT_EQ(judge_counts(0, 0, {}).relation, Relation::same);
  EXPECT_EQ(judge_counts(1000, 1005, {}).relation, Relation::same);
  EXPECT_EQ(judge_counts(1000, 1011, {}).relation, Relation::higher);
  EXPECT_EQ(judge_counts(1000, 980, {}).relation, Relation::lower);
  EXPECT_EQ(judge_counts(0, 5, {}).relation, Relation::inconclusive);
}

}  // namespace
}  // namespace assay::compare
