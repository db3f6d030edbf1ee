#include "run/interleave/interleave_plan.h"
#include "sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two lengths of three attentions, one of them a program of its own. A rank needs `gib` GiB,
// attention "large" 20 times as much.
class InterleavePlanTest : public ::testing::Test {
 protected:
  InterleavePlanTest() {
    catalogue::PluginInfo workload;
    workload.kind = "workload";
    workload.name = "w";
    workload.memory_estimate = "gib * 1 GiB * if(attention == large, 20, 1)";
    catalogue::PluginInfo program;
    program.kind = "attention";
    program.name = "peer";
    program.command = {"peer"};
    catalogue_ = *catalogue::assemble("f", {workload, program});
    machine_.memory_bytes = 64 * gib;
    for (const std::int64_t length : {1, 2}) {
      for (const char* attention : {"small", "peer", "large", "tiny"}) {
        plan_.add_case({{"workload", std::string("w")},
                        {"attention", std::string(attention)},
                        {"seq_len", length},
                        {"gib", std::int64_t{2}},
                        {"device", std::string("cpu")},
                        {"world_size", std::int64_t{1}},
                        {"measure.interleave", std::string("attention")}});
      }
    }
  }

  Surroundings around() { return {catalogue_, experiment_, machine_, false}; }

  catalogue::Catalogue catalogue_;
  config::Experiment experiment_;
  config::Plan plan_;
  Machine machine_;
};

bool all_are_left(std::size_t) { return true; }

TEST_F(InterleavePlanTest, ThoseThatFitTakeTurnsAndTheOthersSayWhyTheyDoNot) {
  const Surroundings surroundings = around();
  InterleavePlan plan(surroundings, plan_, true);
  EXPECT_THAT(plan.members_with(0, all_are_left), ElementsAre(0, 2, 3));
  EXPECT_THAT(plan.members_with(1, all_are_left), IsEmpty());
  EXPECT_THAT(plan.why_apart(1), HasSubstr("peer is a program of its own"));
  EXPECT_EQ(plan.why_apart(0), "");
  EXPECT_THAT(plan.members_with(7, all_are_left), ElementsAre(4, 6, 7));
  EXPECT_EQ(plan.name_of(6), "attention=large");

  machine_.memory_bytes = 32 * gib;
  InterleavePlan tight(surroundings, plan_, true);
  EXPECT_THAT(tight.members_with(2, all_are_left), IsEmpty());
  EXPECT_THAT(tight.why_apart(2), HasSubstr("3 of them would need 45.50 GiB of the host"));
  EXPECT_THAT(tight.members_with(0, all_are_left), ElementsAre(0, 3));
}

TEST_F(InterleavePlanTest, ALookAtOneOfThemNeedsRoomToo) {
  // 45.5 GiB of three, 57.6 are usable.
  catalogue_.plugins[0].look_memory_estimate = "gib * 6 GiB";
  const Surroundings surroundings = around();
  InterleavePlan roomy(surroundings, plan_, true);
  EXPECT_THAT(roomy.members_with(0, all_are_left), ElementsAre(0, 2, 3));
  catalogue_.plugins[0].look_memory_estimate = "gib * 7 GiB";
  InterleavePlan tight(surroundings, plan_, true);
  EXPECT_THAT(tight.members_with(0, all_are_left), ElementsAre(0, 3));
  EXPECT_THAT(tight.why_apart(2), HasSubstr("3 of them and a look would need 59.50 GiB"));
}

TEST_F(InterleavePlanTest, AProgramThatTakesTurnsDoesSoWhereItMayBeStarted) {
  for (catalogue::PluginInfo& plugin : catalogue_.plugins) plugin.takes_turns = plugin.external();
  const Surroundings surroundings = around();
  InterleavePlan plan(surroundings, plan_, true);
  EXPECT_THAT(plan.members_with(0, all_are_left), ElementsAre(0, 1, 2, 3));
  InterleavePlan without_permission(surroundings, plan_, false);
  EXPECT_THAT(without_permission.members_with(0, all_are_left), ElementsAre(0, 2, 3));
  EXPECT_EQ(without_permission.why_apart(1), "it is skipped");
}

TEST_F(InterleavePlanTest, WhatIsFinishedTakesNoPart) {
  const Surroundings surroundings = around();
  InterleavePlan plan(surroundings, plan_, true);
  const auto left = [](std::size_t index) { return index != 2; };
  EXPECT_THAT(plan.members_with(0, left), ElementsAre(0, 3));
  EXPECT_THAT(plan.members_with(4, [](std::size_t index) { return index == 4; }), IsEmpty());
  EXPECT_EQ(plan.why_apart(4), "the others were measured before");
}

TEST_F(InterleavePlanTest, WhatIsSettledStaysSettled) {
  const Surroundings surroundings = around();
  InterleavePlan plan(surroundings, plan_, true);
  EXPECT_THAT(plan.members_with(0, all_are_left), ElementsAre(0, 2, 3));
  EXPECT_THAT(plan.members_with(2, [](std::size_t) { return false; }), ElementsAre(0, 2, 3));
}

TEST_F(InterleavePlanTest, ACaseThatIsSkippedTakesNoPart) {
  config::Plan cases;
  for (const char* device : {"cpu", "cuda", "cpu"}) {
    cases.add_case({{"workload", std::string("w")},
                    {"gib", std::int64_t(1 + cases.size())},
                    {"device", std::string(device)},
                    {"world_size", std::int64_t{1}},
                    {"measure.interleave", std::string("gib")}});
  }
  experiment_.matrix = {{{"gib", "device"}, {}}};
  const Surroundings surroundings = around();
  InterleavePlan plan(surroundings, cases, true);
  EXPECT_THAT(plan.members_with(0, all_are_left), ElementsAre(0, 2));
  EXPECT_EQ(plan.why_apart(1), "it is skipped");
}

}  // namespace
}  // namespace assay::run
