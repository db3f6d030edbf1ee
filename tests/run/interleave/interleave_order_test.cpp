#include "run/interleave/interleave_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace assay::run {
namespace {

std::vector<std::size_t> turns_of(std::size_t members, std::uint64_t seed, std::size_t count) {
  InterleaveOrder turns(members, seed);
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < count; ++i) taken.push_back(*turns.next());
  return taken;
}

TEST(InterleaveOrder, ARoundIsAnOrderOfAllAndThenTheSameBackwards) {
  for (const std::size_t members : {1u, 2u, 3u, 7u}) {
    const auto taken = turns_of(members, 5, members * 2 * 40);
    for (std::size_t round = 0; round < 40; ++round) {
      const auto begin = taken.begin() + static_cast<std::ptrdiff_t>(round * 2 * members);
      const std::vector<std::size_t> forth(begin, begin + static_cast<std::ptrdiff_t>(members));
      std::vector<std::size_t> back(begin + static_cast<std::ptrdiff_t>(members),
                                    begin + static_cast<std::ptrdiff_t>(2 * members));
      EXPECT_EQ(std::set(forth.begin(), forth.end()).size(), members);
      std::reverse(back.begin(), back.end());
      EXPECT_EQ(forth, back);
    }
  }
}

TEST(InterleaveOrder, TheSameSeedGivesTheSameTurnsAndAnotherSeedOthers) {
  EXPECT_EQ(turns_of(3, 11, 60), turns_of(3, 11, 60));
  EXPECT_NE(turns_of(3, 11, 60), turns_of(3, 12, 60));
}

TEST(InterleaveOrder, EveryOrderComesUpAboutEquallyOften) {
  constexpr std::size_t rounds = 6000;
  const auto taken = turns_of(3, 1, rounds * 6);
  std::map<std::vector<std::size_t>, double> seen;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto begin = taken.begin() + static_cast<std::ptrdiff_t>(round * 6);
    ++seen[{begin, begin + 3}];
  }
  ASSERT_EQ(seen.size(), 6u);
  // 1000 ± 29: five standard deviations.
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 145);
}

TEST(InterleaveOrder, OneThatLeavesIsNotAskedAgainAndTheOthersGoOn) {
  InterleaveOrder turns(3, 4);
  for (int i = 0; i < 7; ++i) turns.next();  // in the middle of a round
  turns.drop(1);
  std::vector<int> counts(3);
  for (int i = 0; i < 100; ++i) ++counts[*turns.next()];
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[0], 50, 2);
  turns.drop(0);
  EXPECT_EQ(turns.next(), 2u);
  turns.drop(2);
  EXPECT_EQ(turns.next(), std::nullopt);
}

// The largest difference between the means of two members. They are equal except for the length of
// their calls; `drift` gives the measured value at a time.
double apparent_difference(const std::vector<std::size_t>& turns, std::size_t members,
                           double (*drift)(double)) {
  std::vector<double> sum(members), count(members);
  double now = 0;
  for (const std::size_t member : turns) {
    const double lasts = 1 + static_cast<double>(member);
    sum[member] += drift(now + lasts / 2);
    ++count[member];
    now += lasts;
  }
  double lowest = INFINITY, highest = -INFINITY;
  for (std::size_t member = 0; member < members; ++member) {
    lowest = std::min(lowest, sum[member] / count[member]);
    highest = std::max(highest, sum[member] / count[member]);
  }
  return highest - lowest;
}

TEST(InterleaveOrder, AnEvenDriftAddsTheSameToAll) {
  const auto even = [](double time) { return 0.01 * time; };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_NEAR(apparent_difference(turns_of(4, seed, 80), 4, even), 0, 1e-9);
  }
  std::vector<std::size_t> one_after_the_other;
  for (std::size_t member = 0; member < 4; ++member) {
    one_after_the_other.insert(one_after_the_other.end(), 20, member);
  }
  EXPECT_GT(apparent_difference(one_after_the_other, 4, even), 1);
}

TEST(InterleaveOrder, ADriftThatBendsAndOneThatJumpsAddNearlyTheSameToAll) {
  // Over 200 s: warms up with a time constant of 60 s; throttled by 1 in the middle.
  for (const auto drift : {+[](double time) { return 1 - std::exp(-time / 60); },
                           +[](double time) { return time < 100 ? 0.0 : 1.0; }}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      EXPECT_LT(apparent_difference(turns_of(4, seed, 80), 4, drift), 0.1);
    }
  }
}

TEST(InterleaveOrder, BlocksLeaveRoomForFourRounds) {
  EXPECT_EQ(samples_per_turn(1), 1);
  EXPECT_EQ(samples_per_turn(10), 1);
  EXPECT_EQ(samples_per_turn(16), 2);
  EXPECT_EQ(samples_per_turn(50), 5);
  EXPECT_EQ(samples_per_turn(1000000), 5);
  EXPECT_EQ(samples_per_turn(0), 1);
  EXPECT_EQ(samples_per_turn(-7), 1);
}

TEST(InterleaveOrder, AreWrittenAsLetters) {
  EXPECT_EQ(in_letters({0, 1, 1, 0, 25, 26, 51}), "ABBAZaz");
  EXPECT_EQ(in_letters({0, 52, 52, 0}), "0 52 52 0");
  EXPECT_EQ(in_letters({}), "");
}

TEST(InterleaveOrder, TheSeedFollowsFromTheSettingTheCasesAndThePass) {
  const auto seed = interleave_seed(0, {"a", "b"}, "forward");
  EXPECT_EQ(interleave_seed(0, {"a", "b"}, "forward"), seed);
  EXPECT_NE(interleave_seed(1, {"a", "b"}, "forward"), seed);
  EXPECT_NE(interleave_seed(0, {"a", "c"}, "forward"), seed);
  EXPECT_NE(interleave_seed(0, {"a", "b"}, "backward"), seed);
}

}  // namespace
}  // namespace assay::run
