#include "run/interleave/interleave_groups.h"
#include "sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Case = std::map<std::string, Value>;

Value text(const char* value) { return std::string(value); }

config::Plan plan_of(const std::vector<Case>& cases) {
  config::Plan plan;
  for (const Case& one : cases) plan.add_case(one);
  return plan;
}

std::vector<std::vector<std::size_t>> groups(const config::Plan& plan,
                                             const config::Experiment& experiment = {}) {
  std::vector<std::vector<std::size_t>> found;
  const InterleaveGroups all(experiment, plan);
  for (const InterleaveGroup& group : all.all()) {
    found.push_back(group.cases);
    for (const std::size_t index : group.cases) {
      EXPECT_EQ(all.of(index), &group);
    }
  }
  return found;
}

// Two lengths and three attentions, one with an option of two values. axis: the interleaved one.
config::Plan attention_plan(const char* interleave) {
  std::vector<Case> cases;
  for (const std::int64_t length : {128, 256}) {
    const Case common = {{"seq_len", length}, {"measure.interleave", text(interleave)}};
    for (const char* name : {"naive", "flash"}) {
      cases.push_back(common);
      cases.back()["attention"] = text(name);
    }
    for (const std::int64_t block : {64, 128}) {
      cases.push_back(common);
      cases.back()["attention"] = text("tiled");
      cases.back()["attention.block_m"] = block;
    }
  }
  return plan_of(cases);
}

TEST(InterleaveGroups, AreCasesThatDifferOnlyInTheAxisAndTheOptionsOfItsValues) {
  EXPECT_THAT(groups(attention_plan("attention")),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
  EXPECT_THAT(groups(attention_plan("seq_len")), ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5),
                                                             ElementsAre(2, 6), ElementsAre(3, 7)));
  EXPECT_THAT(groups(attention_plan("attention.block_m")),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2, 3), ElementsAre(4),
                          ElementsAre(5), ElementsAre(6, 7)));
}

TEST(InterleaveGroups, ThereAreNoneWhereTheSettingIsEmptyOrAbsent) {
  EXPECT_THAT(groups(attention_plan("")), IsEmpty());
  const config::Plan plan = plan_of({{{"seq_len", std::int64_t{1}}}});
  EXPECT_THAT(groups(plan), IsEmpty());
  EXPECT_EQ(InterleaveGroups({}, plan).of(0), nullptr);
}

TEST(InterleaveGroups, AnAxisThatDoesNotVaryGivesGroupsOfOne) {
  EXPECT_THAT(groups(plan_of({{{"attention", text("naive")},
                               {"seq_len", std::int64_t{1}},
                               {"measure.interleave", text("precision")}},
                              {{"attention", text("naive")},
                               {"seq_len", std::int64_t{2}},
                               {"measure.interleave", text("precision")}}})),
              ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(InterleaveGroups, TheSettingMayItselfVary) {
  std::vector<Case> cases;
  for (const char* setting : {"", "attention", "repeat"}) {
    for (const char* name : {"naive", "flash"}) {
      cases.push_back({{"attention", text(name)}, {"measure.interleave", text(setting)}});
    }
  }
  const config::Plan plan = plan_of(cases);
  EXPECT_THAT(groups(plan), ElementsAre(ElementsAre(2, 3), ElementsAre(4), ElementsAre(5)));
  EXPECT_EQ(InterleaveGroups({}, plan).of(1), nullptr);
}

TEST(InterleaveGroups, AxesThatAreTiedAreOneAxis) {
  config::Experiment experiment;
  experiment.matrix = {{{"model", "batch"}, {}}, {{"precision"}, {}}};
  std::vector<Case> cases;
  for (const auto& [model, batch] : {std::pair("small", 16), std::pair("large", 4)}) {
    for (const char* precision : {"fp32", "bf16"}) {
      cases.push_back({{"model", text(model)},
                       {"batch", std::int64_t{batch}},
                       {"precision", text(precision)},
                       {"measure.interleave", text("model")}});
    }
  }
  EXPECT_THAT(groups(plan_of(cases), experiment),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_EQ(groups(plan_of(cases)).size(), 4u) << "untied, each batch is another group";
}

Machine machine(std::size_t gpus, double host_gib = 64) {
  Machine machine;
  machine.memory_bytes = static_cast<std::int64_t>(host_gib * gib);
  machine.gpus.assign(gpus, {"GPU", std::int64_t{80} << 30, "9.0"});
  return machine;
}

TEST(InterleaveFitTest, TheMemoryOfAllIsHeldAgainstThatOfTheGpuWithAMargin) {
  // 72 GiB of 80 are usable; a worker counts 1 GiB.
  const std::vector<InterleaveCandidate> three = {
      {0, true, 1, 23 * gib}, {1, true, 1, 23 * gib}, {2, true, 1, 23 * gib}};
  const InterleaveFit together = interleave_fit(three, machine(1));
  EXPECT_THAT(together.members, ElementsAre(0, 1, 2));
  EXPECT_THAT(together.apart, IsEmpty());
  std::vector<InterleaveCandidate> more = three;
  more[1].bytes = 23.5 * gib;
  const InterleaveFit without = interleave_fit(more, machine(1));
  EXPECT_THAT(without.members, ElementsAre(0, 2)) << "the one that needs most is left out";
  EXPECT_THAT(without.apart.at(1), HasSubstr("3 of them would need 72.50 GiB of the GPU"));
  EXPECT_THAT(without.apart.at(1), HasSubstr("72.00 GiB is usable"));
}

TEST(InterleaveFitTest, ThereIsRoomForALookAtOneOfThem) {
  // 3 * 16 + 24 GiB are the 72 that are usable.
  std::vector<InterleaveCandidate> cases;
  for (std::size_t i = 0; i < 3; ++i) cases.push_back({i, true, 1, 15 * gib, {}, 24 * gib});
  EXPECT_THAT(interleave_fit(cases, machine(1)).members, ElementsAre(0, 1, 2));
  for (InterleaveCandidate& one : cases) one.look_bytes = 25 * gib;
  const InterleaveFit without = interleave_fit(cases, machine(1));
  EXPECT_THAT(without.members, ElementsAre(0, 1)) << "of those that are alike the last leaves";
  EXPECT_THAT(without.apart.at(2), HasSubstr("3 of them and a look would need 73.00 GiB"));
}

TEST(InterleaveFitTest, EstimatesWithinAHundredthAreAlike) {
  std::vector<InterleaveCandidate> cases = {
      {0, true, 1, 30.2 * gib}, {1, true, 1, 30 * gib}, {2, true, 1, 30 * gib}};
  EXPECT_THAT(interleave_fit(cases, machine(1)).members, ElementsAre(0, 1));
  cases[0].bytes = 30.4 * gib;
  EXPECT_THAT(interleave_fit(cases, machine(1)).members, ElementsAre(1, 2));
}

TEST(InterleaveFitTest, TheOneWhoseLookIsTheLargestLeavesWhereThatHelpsMost) {
  const std::vector<InterleaveCandidate> cases = {{0, true, 1, 10 * gib, {}, 50 * gib},
                                                  {1, true, 1, 20 * gib, {}, 5 * gib},
                                                  {2, true, 1, 20 * gib, {}, 5 * gib}};
  EXPECT_THAT(interleave_fit(cases, machine(1)).members, ElementsAre(1, 2));
}

TEST(InterleaveFitTest, ALookTakesNoMoreThanIsLeftBesideItsOwnCase) {
  // 72 usable less 20 + 1 leave 51.
  std::vector<InterleaveCandidate> cases;
  for (std::size_t i = 0; i < 3; ++i) cases.push_back({i, true, 1, 20 * gib, {}, 100 * gib});
  const InterleaveFit none = interleave_fit(cases, machine(1));
  EXPECT_THAT(none.members, IsEmpty());
  EXPECT_THAT(none.apart.at(0), HasSubstr("2 of them and a look would need 93.00 GiB"));
  for (std::size_t i : {1, 2}) cases[i].look_bytes = 5 * gib;
  const InterleaveFit two = interleave_fit(cases, machine(1));
  EXPECT_THAT(two.members, ElementsAre(1, 2));
  EXPECT_THAT(two.apart.at(0), HasSubstr("3 of them and a look would need 114.00 GiB"));
}

TEST(InterleaveFitTest, ALookOfSeveralRanksIsOnEachRanksGpu) {
  std::vector<InterleaveCandidate> ranks = {{0, true, 2, 10 * gib, {}, 20 * gib},
                                            {1, true, 2, 10 * gib, {}, 20 * gib}};
  Machine pair = machine(2);
  pair.gpus[1].memory_bytes = std::int64_t{48} << 30;  // 43.2 GiB of it are usable
  EXPECT_THAT(interleave_fit(ranks, pair).members, ElementsAre(0, 1));
  ranks[1].look_bytes = 22 * gib;
  EXPECT_THAT(interleave_fit(ranks, pair).apart.at(0), HasSubstr("of GPU 1 by estimate"));
}

TEST(InterleaveFitTest, EveryRankNeedsItsShareOfItsOwnGpu) {
  const std::vector<InterleaveCandidate> ranks = {{0, true, 4, 30 * gib}, {1, true, 2, 30 * gib}};
  EXPECT_THAT(interleave_fit(ranks, machine(4)).members, ElementsAre(0, 1));
  const std::vector<InterleaveCandidate> more = {
      {0, true, 4, 30 * gib}, {1, true, 2, 30 * gib}, {2, true, 1, 30 * gib}};
  const InterleaveFit together = interleave_fit(more, machine(4));
  EXPECT_THAT(together.members, ElementsAre(0, 1)) << "GPU 0 would hold three";
  EXPECT_THAT(together.apart.at(2), HasSubstr("GPU 0"));
}

TEST(InterleaveFitTest, OnACpuAllRanksShareTheHost) {
  const std::vector<InterleaveCandidate> cases = {{0, false, 2, 10 * gib}, {1, false, 1, 10 * gib}};
  EXPECT_THAT(interleave_fit(cases, machine(1, 36)).members, ElementsAre(0, 1));
  const InterleaveFit together = interleave_fit(cases, machine(1, 32));
  EXPECT_THAT(together.members, IsEmpty());
  EXPECT_THAT(together.apart.at(0), HasSubstr("31.50 GiB of the host"));
  EXPECT_EQ(together.apart.at(1), together.apart.at(0)) << "nobody is left to take turns with it";
}

TEST(InterleaveFitTest, WhatIsNotKnownIsTriedAndTheWorkersAloneMayBeTooMany) {
  std::vector<InterleaveCandidate> cases;
  for (std::size_t i = 0; i < 8; ++i) cases.push_back({i, true, 1, std::nullopt});
  EXPECT_EQ(interleave_fit(cases, machine(1)).members.size(), 8u);
  EXPECT_EQ(interleave_fit(cases, machine(1, 3)).members.size(), 5u) << "2.7 GiB of host memory";
}

TEST(InterleaveFitTest, WhatCannotTakeTurnsRunsApartAndIsNotCounted) {
  const std::vector<InterleaveCandidate> cases = {{4, true, 1, 30 * gib},
                                                  {5, true, 1, 300 * gib, "is another program"},
                                                  {6, true, 1, 30 * gib}};
  const InterleaveFit together = interleave_fit(cases, machine(1));
  EXPECT_THAT(together.members, ElementsAre(4, 6));
  EXPECT_EQ(together.apart.at(5), "is another program");
  const InterleaveFit alone = interleave_fit({cases[0], cases[1]}, machine(1));
  EXPECT_THAT(alone.members, IsEmpty());
  EXPECT_EQ(alone.apart.at(4), "the others cannot take turns");
  EXPECT_THAT(interleave_fit({cases[0]}, machine(1)).apart.at(4),
              HasSubstr("no other case differs"));
}

}  // namespace
}  // namespace assay::run
