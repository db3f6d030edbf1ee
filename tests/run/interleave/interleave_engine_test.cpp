#include "run/interleave/interleave_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace assay::run {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Did {
  char who;
  std::string what;  // "start", or the pass it took samples of
};

// Goes through its passes as a worker does. Crashes in the sample `dies_at` of the pass `dies_in`;
// "start" is its preparation.
class FakeCase final : public InterleaveMember {
 public:
  FakeCase(char who, std::vector<std::pair<std::string, std::int64_t>> passes,
           std::vector<Did>& log)
      : who_(who), passes_(std::move(passes)), log_(log) {}

  std::optional<wire::TurnWanted> start() override {
    log_.push_back({who_, "start"});
    if (dies_in == "start") return std::nullopt;
    return wanted();
  }

  std::optional<wire::TurnWanted> take(const wire::Turn& turn) override {
    turns.push_back(turn);
    log_.push_back({who_, passes_[pass_].first});
    for (std::int64_t sample = 0; sample < turn.samples; ++sample) {
      if (passes_[pass_].first == dies_in && taken_ == dies_at) return std::nullopt;
      if (++taken_ < passes_[pass_].second) continue;
      taken_ = 0;
      ++pass_;
      break;
    }
    return wanted();
  }

  CaseEnd end() override { return {}; }
  bool holds_memory() const override { return true; }

  std::string dies_in;
  std::int64_t dies_at = 0;
  std::vector<wire::Turn> turns;

 private:
  std::optional<wire::TurnWanted> wanted() const {
    if (pass_ == passes_.size()) return std::nullopt;
    return wire::TurnWanted{who_, passes_[pass_].first, taken_, passes_[pass_].second};
  }

  char who_;
  std::vector<std::pair<std::string, std::int64_t>> passes_;
  std::vector<Did>& log_;
  std::size_t pass_ = 0;
  std::int64_t taken_ = 0;
};

class InterleaveEngineTest : public ::testing::Test {
 protected:
  FakeCase& add(std::vector<std::pair<std::string, std::int64_t>> passes) {
    const char who = static_cast<char>('A' + static_cast<char>(cases_.size()));
    auto added = std::make_unique<FakeCase>(who, std::move(passes), log_);
    FakeCase& one = *added;
    cases_.push_back(std::move(added));
    fakes_.push_back(&one);
    return one;
  }

  void run() {
    interleave(cases_, {.seed = 3,
                        .keys = {"a", "b", "c"},
                        .passes = {"forward", "backward"},
                        .stop = [&] { return log_.size() >= stop_after_; },
                        .begins = [](std::size_t) {},
                        .ended =
                            [&](std::size_t index, InterleaveEnd end) {
                              ended_.push_back(static_cast<char>('A' + static_cast<char>(index)));
                              turns_ = end.turns;
                            }});
  }

  // The members that took turns of the pass, in order.
  std::string takers(const std::string& pass) const {
    std::string who;
    for (const Did& did : log_) {
      if (did.what == pass) who += did.who;
    }
    return who;
  }

  std::vector<Did> log_;
  InterleaveMembers cases_;
  std::vector<FakeCase*> fakes_;
  std::vector<char> ended_;
  std::vector<InterleavePass> turns_;
  std::size_t stop_after_ = 1000000;
};

TEST_F(InterleaveEngineTest, AllArePreparedThenMeasuredPassForPassAndWhatIsRecordedIsWhatHappened) {
  for (int i = 0; i < 3; ++i) add({{"forward", 20}, {"backward", 8}});
  run();
  ASSERT_EQ(log_.size(), 3u + 30u + 24u);
  std::string order;
  for (const Did& did : log_) order += did.what[0];
  EXPECT_EQ(order, "sss" + std::string(30, 'f') + std::string(24, 'b'));
  EXPECT_THAT(ended_, ::testing::UnorderedElementsAre('A', 'B', 'C'));
  ASSERT_EQ(turns_.size(), 2u);
  EXPECT_EQ(turns_[0].pass, "forward");
  EXPECT_EQ(turns_[0].block, 2);
  EXPECT_EQ(turns_[0].rounds, 5u);
  EXPECT_EQ(turns_[0].turns, takers("forward"));
  EXPECT_EQ(turns_[1].block, 1);
  EXPECT_EQ(turns_[1].turns, takers("backward"));
  for (const auto* one : fakes_) EXPECT_EQ(one->turns.size(), 10u + 8u);
}

TEST_F(InterleaveEngineTest, AMemberIsToldWhetherOthersWereMeasuredInBetween) {
  FakeCase& a = add({{"forward", 40}});
  FakeCase& b = add({{"forward", 40}});
  run();
  const std::string takers = this->takers("forward");
  std::map<char, std::size_t> at;
  for (std::size_t i = 0; i < takers.size(); ++i) {
    const wire::Turn& turn = (takers[i] == 'A' ? a : b).turns[at[takers[i]]++];
    EXPECT_EQ(turn.after_others, i == 0 || takers[i - 1] != takers[i]) << i;
    EXPECT_EQ(turn.ordinal, takers[i]);
  }
}

TEST_F(InterleaveEngineTest, OneThatDiesLeavesTheOthersTheirTurns) {
  for (const char* where : {"start", "forward", "backward"}) {
    SCOPED_TRACE(where);
    log_.clear(), cases_.clear(), fakes_.clear(), ended_.clear();
    add({{"forward", 10}, {"backward", 10}});
    FakeCase& dies = add({{"forward", 10}, {"backward", 10}});
    add({{"forward", 10}, {"backward", 10}});
    dies.dies_in = where;
    dies.dies_at = 4;
    run();
    EXPECT_EQ(ended_.front(), 'B');
    EXPECT_THAT(ended_, ::testing::UnorderedElementsAre('A', 'B', 'C'));
    EXPECT_EQ(fakes_[0]->turns.size(), 20u);
    EXPECT_EQ(fakes_[2]->turns.size(), 20u);
  }
}

TEST_F(InterleaveEngineTest, OneThatSkipsAPassWaitsForTheOthersToFinishIt) {
  add({{"forward", 10}, {"backward", 10}});
  add({{"backward", 10}});
  run();
  EXPECT_EQ(takers("forward"), std::string(10, 'A'));
  EXPECT_THAT(takers("backward"),
              ::testing::AllOf(::testing::HasSubstr("A"), ::testing::HasSubstr("B")));
  EXPECT_EQ(log_[2].what, "forward");
}

TEST_F(InterleaveEngineTest, MembersMayTakeDifferentlyManySamples) {
  add({{"forward", 10}});
  add({{"forward", 100}});
  run();
  EXPECT_EQ(turns_[0].block, 1) << "the shorter one still has its four rounds";
  EXPECT_EQ(fakes_[0]->turns.size(), 10u);
  EXPECT_EQ(fakes_[1]->turns.size(), 100u);
  EXPECT_THAT(ended_, ElementsAre('A', 'B'));
}

TEST_F(InterleaveEngineTest, StoppingEndsNobodyAndStartsNothing) {
  for (int i = 0; i < 3; ++i) add({{"forward", 10}});
  stop_after_ = 2;
  run();
  EXPECT_EQ(log_.size(), 2u);
  stop_after_ = 9;
  log_.clear(), cases_.clear(), fakes_.clear();
  for (int i = 0; i < 3; ++i) add({{"forward", 10}});
  run();
  EXPECT_EQ(log_.size(), 9u);
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(InterleaveEngineTest, OneThatIsAloneEndsAsItStarts) {
  add({});
  run();
  EXPECT_EQ(log_.size(), 1u);
  EXPECT_THAT(ended_, ElementsAre('A'));
  EXPECT_THAT(turns_, IsEmpty());
}

TEST(InterleaveFact, NamesTheOthersOrSaysWhyThereAreNone) {
  const auto written = [](store::InterleaveFacts fact) {
    store::CaseFacts facts;
    facts.interleaved = std::move(fact);
    return to_json(facts)["interleaved"];
  };
  EXPECT_EQ(written(interleave_fact(1, {"x=1", "x=2", "x=3"}, {{"forward", 2, 5, "ABCCBA"}})),
            nlohmann::json::parse(R"({"as": "B", "with": {"A": "x=1", "C": "x=3"},
                "passes": {"forward": {"block": 2, "rounds": 5, "turns": "ABCCBA"}}})"));
  EXPECT_EQ(written({.apart = "it is skipped"}), nlohmann::json({{"apart", "it is skipped"}}));
}

TEST(HarmByOthers, IsWantOfMemoryOrOfTheGpu) {
  EXPECT_EQ(harm_by_others({}, true), "");
  EXPECT_THAT(harm_by_others({.outcome = Outcome::oom}, true),
              ::testing::HasSubstr("out of memory"));
  EXPECT_EQ(harm_by_others({.outcome = Outcome::oom}, false), "");
  EXPECT_THAT(harm_by_others({.outcome = Outcome::error,
                              .reason = "CUDA-capable device(s) is/are busy or unavailable"},
                             true),
              ::testing::HasSubstr("one process at a time"));
}

TEST(HarmByOthers, IsWantOfMemoryForEveryLookAtAPass) {
  const auto harm = [](std::int64_t looks, std::string left_out, Outcome outcome = Outcome::ok) {
    CaseEnd end = {.outcome = outcome};
    end.facts.verification["forward"].timed = {.looks = 3};
    end.facts.verification["train_step"].timed = {.looks = looks, .left_out = std::move(left_out)};
    return harm_by_others(end, false);
  };
  for (const char* want :
       {"CUDA out of memory: 20.00 MiB asked for", "host memory ran out: 20.00 GiB asked for"}) {
    EXPECT_THAT(harm(0, want), ::testing::HasSubstr("memory was lacking to look"));
    EXPECT_EQ(harm(2, want), "");
    EXPECT_EQ(harm(0, want, Outcome::wrong), "");
  }
  EXPECT_EQ(harm(0, "its inputs cannot be new"), "");
}

}  // namespace
}  // namespace assay::run
