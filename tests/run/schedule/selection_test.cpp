#include "run/schedule/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/records/identity.h"

namespace assay::run {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Cases named by their keys, all of build "b".
Selection select(const std::vector<std::string>& keys,
                 const std::map<std::string, store::RecordedCase>& recorded,
                 const Again& again = {}, const std::vector<std::string>& passes = {"forward"}) {
  return select_cases(
      keys.size(),
      [&](std::size_t index) {
        return CaseIdentity{keys[index], "b", passes};
      },
      recorded, again);
}

store::RecordedCase result(std::int64_t ordinal, Outcome outcome = Outcome::ok,
                           std::string build = "b") {
  return {ordinal, std::move(build), outcome, std::vector<std::string>{"forward"}, {outcome}};
}

TEST(Selection, WantsWhatHasNoResult) {
  const Selection selection = select({"a", "b", "c"}, {{"b", result(1)}});
  EXPECT_THAT(selection.wanted, ElementsAre(true, false, true));
  EXPECT_EQ(selection.done, 1u);
  EXPECT_TRUE(selection.wants_any());
  EXPECT_FALSE(select({"b"}, {{"b", result(1)}}).wants_any());
  EXPECT_TRUE(Selection().wants(17)) << "a selection that nobody made is of all";
}

TEST(Selection, AnOutcomeThatIsNotOkIsAResultUnlessItIsToBeRetried) {
  const std::map<std::string, store::RecordedCase> recorded = {
      {"a", result(0)}, {"b", result(1, Outcome::oom)}, {"c", result(2, Outcome::timeout)}};
  EXPECT_THAT(select({"a", "b", "c"}, recorded).wanted, ElementsAre(false, false, false));
  EXPECT_THAT(select({"a", "b", "c", "d"}, recorded, {.outcomes = {Outcome::oom}}).wanted,
              ElementsAre(false, true, false, true));
  EXPECT_THAT(select({"a", "b", "c"}, recorded, {.every = true}).wanted,
              ElementsAre(true, true, true));
}

TEST(Selection, AnOutcomeOfOnePassIsRetried) {
  store::RecordedCase mixed = result(0, Outcome::error);
  mixed.of_passes = {Outcome::ok, Outcome::error, Outcome::oom};
  EXPECT_THAT(select({"a"}, {{"a", mixed}}, {.outcomes = {Outcome::oom}}).wanted,
              ElementsAre(true));
  EXPECT_THAT(select({"a"}, {{"a", mixed}}, {.outcomes = {Outcome::timeout}}).wanted,
              ElementsAre(false));
}

TEST(Selection, AResultOfOtherBinariesOrOfOtherPassesIsMissing) {
  EXPECT_THAT(select({"a"}, {{"a", result(0, Outcome::ok, "older")}}).wanted, ElementsAre(true));
  EXPECT_THAT(select({"a"}, {{"a", result(0)}}, {}, {"forward", "backward"}).wanted,
              ElementsAre(true));
  store::RecordedCase more = result(0);
  more.passes = {{"forward", "backward"}};
  EXPECT_THAT(select({"a"}, {{"a", more}}).wanted, ElementsAre(false));
  more.passes.reset();
  EXPECT_THAT(select({"a"}, {{"a", more}}).wanted, ElementsAre(false)) << "an imported result";
}

TEST(Selection, CasesThatAreTheSameHereAreMeasuredOnce) {
  const Selection selection = select({"a", "b", "a"}, {});
  EXPECT_THAT(selection.wanted, ElementsAre(true, true, false));
  EXPECT_EQ(selection.repeats, 1u);
  EXPECT_EQ(selection.done, 0u);
}

TEST(Selection, OnlyAPlanThatHasAllResultsOrdersThem) {
  const std::map<std::string, store::RecordedCase> recorded = {{"a", result(0)}, {"c", result(1)}};
  EXPECT_THAT(select({"a", "b", "c"}, recorded).places, ElementsAre(Pair("a", 0), Pair("c", 2)));
  EXPECT_TRUE(select({"b", "c"}, recorded).places.empty());
}

config::Plan plan_with(const std::vector<store::Parameters>& cases) {
  config::Plan plan;
  for (const auto& each : cases) plan.add_case(each);
  return plan;
}

store::CaseResult stored(store::Parameters parameters) {
  store::CaseResult result;
  result.parameters = std::move(parameters);
  store::set_key(result);
  return result;
}

TEST(NarrowPlan, SettlesWhatTheMachineDecidesAsItWasThen) {
  const config::Plan plan =
      plan_with({{{"seq_len", std::int64_t{1}}, {"device", std::string("auto")}},
                 {{"seq_len", std::int64_t{2}}, {"device", std::string("auto")}}});
  const auto wanted = stored({{"seq_len", std::int64_t{2}}, {"device", std::string("cuda")}});
  const auto narrowed = narrow_plan(plan, {&wanted});
  ASSERT_TRUE(narrowed) << narrowed.error().text();
  ASSERT_EQ(narrowed->size(), 1u);
  EXPECT_EQ(narrowed->parameters(0), wanted.parameters);
}

TEST(NarrowPlan, SettingsThatAreNewHaveThePlansValue) {
  const config::Plan plan = plan_with({{{"n", std::int64_t{1}}, {"cache", std::string("warm")}}});
  const auto wanted = stored({{"n", std::int64_t{1}}});
  EXPECT_EQ(narrow_plan(plan, {&wanted})->parameters(0), plan.parameters(0));
  // The row with the fewest added settings is meant.
  const config::Plan two =
      plan_with({{{"n", std::int64_t{1}}, {"extra", true}}, {{"n", std::int64_t{1}}}});
  EXPECT_EQ(narrow_plan(two, {&wanted})->parameters(0), wanted.parameters);
}

TEST(NarrowPlan, ACaseThatThereIsNotIsNamed) {
  const config::Plan plan = plan_with({{{"n", std::int64_t{1}}}});
  for (const store::Parameters& other :
       {store::Parameters{{"n", std::int64_t{2}}}, store::Parameters{{"n", 1.0}},
        store::Parameters{{"n", std::int64_t{1}}, {"gone", true}}}) {
    const auto wanted = stored(other);
    const auto narrowed = narrow_plan(plan, {&wanted});
    ASSERT_FALSE(narrowed) << wanted.key_text;
    EXPECT_EQ(narrowed.error().exit_code, ExitCode::bad_input);
    EXPECT_THAT(narrowed.error().text(), ::testing::HasSubstr(wanted.key_text));
  }
}

TEST(NarrowPlan, OfTwoCasesThatFitAlikeNoneIsTaken) {
  const config::Plan plan = plan_with({{{"n", std::int64_t{1}}, {"cache", std::string("warm")}},
                                       {{"n", std::int64_t{1}}, {"cache", std::string("flush")}}});
  const auto wanted = stored({{"n", std::int64_t{1}}});
  EXPECT_FALSE(narrow_plan(plan, {&wanted}));
}

TEST(MayRepeat, OnlyWhereAutoStandsBesideAnother) {
  EXPECT_FALSE(may_repeat(plan_with({{{"device", std::string("auto")}}})));
  EXPECT_FALSE(may_repeat(plan_with({{{"n", std::int64_t{1}}}, {{"n", std::int64_t{2}}}})));
  EXPECT_TRUE(
      may_repeat(plan_with({{{"device", std::string("auto")}}, {{"device", std::string("cpu")}}})));
}

}  // namespace
}  // namespace assay::run
