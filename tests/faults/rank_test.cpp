// One rank dies, hangs or is late: the case ends for all ranks.

#include <gtest/gtest.h>

#include "rank_faults.h"

namespace assay::faults {
namespace {

class Rank : public ::testing::TestWithParam<RankFault> {};

TEST_P(Rank, EndsTheCaseForAllOfThem) {
  expect_ends_the_case_for_all("cpu", "Ranks over Gloo", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Faults, Rank, ::testing::ValuesIn(rank_faults()),
                         [](const auto& tested) { return tested.param.name(); });
INSTANTIATE_TEST_SUITE_P(OfOthers, Rank, ::testing::ValuesIn(faults_of_other_ranks()),
                         [](const auto& tested) { return tested.param.name(); });

class RankInAStep : public ::testing::TestWithParam<RankFault> {};

TEST_P(RankInAStep, EndsTheCaseForAllOfThem) {
  expect_ends_the_step_for_all("cpu", "Ranks over Gloo", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Faults, RankInAStep, ::testing::ValuesIn(faults_of_a_step()),
                         [](const auto& tested) { return tested.param.name(); });

}  // namespace
}  // namespace assay::faults
