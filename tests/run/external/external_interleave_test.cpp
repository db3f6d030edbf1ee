#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "external_program.h"

namespace assay::run {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// A program that takes turns.
class ExternalInterleaveTest : public External {
 protected:
  std::optional<wire::TurnWanted> start(const std::string& script, bool takes_turns = true) {
    plugin_.command = {"sh", "-c", "read -r case; " + script};
    program_.emplace(resolved_, modules_, folder_.path(), takes_turns);
    program_->begin();
    return program_->work(interrupt_, listener_);
  }
  std::optional<wire::TurnWanted> take(const wire::Turn& turn) {
    program_->give(turn);
    return program_->work(interrupt_, listener_);
  }

  const std::filesystem::path modules_ = "/modules";
  const std::function<void(const std::string&)> listener_ = [](const std::string&) {};
  std::optional<ExternalProgram> program_;
};

constexpr const char* asks =
    "echo '{\"turn\": {\"pass\": \"forward\", \"taken\": 3, \"planned\": 8}}'; read -r turn; ";

TEST_F(ExternalInterleaveTest, WaitsUntilItIsGivenOne) {
  const auto wanted =
      start(std::string(asks) + asks + "echo '" + timed + "'; echo \"$case $turn\" >&2");
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->pass, "forward");
  EXPECT_EQ(wanted->taken, 3);
  EXPECT_EQ(wanted->planned, 8);
  ASSERT_TRUE(take({.samples = 1, .after_others = false}));
  EXPECT_FALSE(take({.samples = 5, .after_others = true}));
  const CaseEnd end = program_->end().end;
  EXPECT_EQ(end.outcome, Outcome::ok) << end.reason;
  EXPECT_EQ(end.series.size(), 1u);
  const std::string seen = end.facts.output;
  EXPECT_THAT(seen, HasSubstr("\"turns\":true"));
  EXPECT_THAT(seen, HasSubstr("{\"turn\":{\"after_others\":true,\"samples\":5}}"));
}

TEST_F(ExternalInterleaveTest, WorkBeyondTheLimitIsATimeout) {
  resolved_.time_limit_s = 5;
  ASSERT_TRUE(start(std::string(asks) + "sleep 60"));
  EXPECT_FALSE(take({.samples = 1}));
  const CaseEnd end = program_->end().end;
  EXPECT_EQ(end.outcome, Outcome::timeout) << end.reason;
}

TEST_F(ExternalInterleaveTest, AlsoOfOneThatAsksAtOnceAgainAndAgain) {
  resolved_.time_limit_s = 4;
  bool wants = start(std::string("while :; do ") + asks + "done").has_value();
  ASSERT_TRUE(wants);
  for (int turns = 0; wants && turns < 10'000'000; ++turns)
    wants = take({.samples = 1}).has_value();
  EXPECT_FALSE(wants);
  const CaseEnd end = program_->end().end;
  EXPECT_EQ(end.outcome, Outcome::timeout) << end.reason;
}

// Its limit expires during the turns of others.
TEST_F(ExternalInterleaveTest, OnlyItsOwnWorkCountsTowardsTheLimit) {
  resolved_.time_limit_s = 4;
  ASSERT_TRUE(start(std::string(asks) + "echo '" + timed + "'"));
  std::this_thread::sleep_for(std::chrono::milliseconds(4500));
  EXPECT_FALSE(take({.samples = 1}));
  const CaseEnd end = program_->end().end;
  EXPECT_EQ(end.outcome, Outcome::ok) << end.reason;
}

TEST_F(ExternalInterleaveTest, WhatItTookBesideItsTurnsIsRefused) {
  const auto refused = [&](const std::string& reason) {
    const CaseEnd end = program_->end().end;
    EXPECT_EQ(end.outcome, Outcome::error);
    EXPECT_EQ(end.reason, reason);
    ASSERT_EQ(end.series.size(), 1u);
    EXPECT_EQ(end.series[0].outcome, Outcome::error);
    EXPECT_TRUE(end.series[0].samples.empty());
  };
  EXPECT_FALSE(start(std::string("echo '") + timed + "'"));
  refused("the program reported 1 samples of pass 'forward', its turns granted 0");

  std::string three = timed;
  three.replace(three.find("[1]"), 3, "[1, 2, 3]");
  ASSERT_TRUE(start(std::string(asks) + "echo '" + three + "'"));
  EXPECT_FALSE(take({.samples = 2}));
  refused("the program reported 3 samples of pass 'forward', its turns granted 2");
}

TEST_F(ExternalInterleaveTest, OneThatEndsInItsTurnHasCrashed) {
  ASSERT_TRUE(start(std::string(asks) + "exit 3"));
  EXPECT_FALSE(take({.samples = 1}));
  EXPECT_EQ(program_->end().end.outcome, Outcome::crashed);
}

TEST_F(ExternalInterleaveTest, OneThatEndsWhileItWaitsHasCrashed) {
  const std::filesystem::path note = folder_.path() / "pid";
  ASSERT_TRUE(start("echo $$ > '" + note.string() + "'; " + asks));
  pid_t pid = 0;
  std::ifstream(note) >> pid;
  ASSERT_GT(pid, 0);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  while (::kill(pid, 0) == 0) std::this_thread::yield();
  EXPECT_FALSE(take({.samples = 1}));
  const CaseEnd end = program_->end().end;
  EXPECT_EQ(end.outcome, Outcome::crashed);
  EXPECT_THAT(end.reason, HasSubstr("SIGKILL"));
}

TEST_F(ExternalInterleaveTest, OneThatNeverReadsItsTurnsHoldsNobodyUp) {
  const std::string endless =
      "while :; do echo '{\"turn\": {\"pass\": \"forward\", \"taken\": 0, \"planned\": 8}}'; done";
  bool wants = start(endless).has_value();
  while (wants) wants = take({.samples = 1}).has_value();
  const CaseEnd end = program_->end().end;
  EXPECT_EQ(end.outcome, Outcome::error);
  // The reason depends on how much output one read returns.
  EXPECT_THAT(end.reason, AnyOf(HasSubstr("does not read the turns"),
                                HasSubstr("before it was given the one it asked for")));
}

TEST_F(ExternalInterleaveTest, OneThatAsksForTwoAtOnceIsEnded) {
  const std::string ask = "{\"turn\": {\"pass\": \"forward\", \"taken\": 0, \"planned\": 8}}";
  EXPECT_FALSE(
      start("printf '%s\\n%s\\n' '" + ask + "' '" + ask + "'; read -r turn; read -r turn"));
  const CaseEnd end = program_->end().end;
  EXPECT_EQ(end.outcome, Outcome::error);
  EXPECT_THAT(end.reason, HasSubstr("before it was given the one it asked for"));
}

TEST_F(ExternalInterleaveTest, OneThatDoesNotAwaitItsTurnIsRefused) {
  ASSERT_TRUE(
      start("echo '{\"turn\": {\"pass\": \"forward\", \"taken\": 0, \"planned\": 8}}'; "
            "echo '" +
            std::string(timed) + "'; while [ ! -e '" + (folder_.path() / "go").string() +
            "' ]; do :; done"));
  program_->give({.samples = 5});
  std::ofstream(folder_.path() / "go");
  EXPECT_FALSE(program_->work(interrupt_, listener_));
  const CaseEnd end = program_->end().end;
  EXPECT_EQ(end.outcome, Outcome::error);
  EXPECT_THAT(end.reason, HasSubstr("its turns granted 0"));
}

TEST_F(ExternalInterleaveTest, ThePassesFollowEachOther) {
  resolved_.request.passes = {"forward", "backward"};
  const std::string backward =
      "echo '{\"turn\": {\"pass\": \"backward\", \"taken\": 0, \"planned\": 8}}'; read -r turn; ";
  ASSERT_TRUE(start(backward + asks));
  EXPECT_FALSE(take({.samples = 1}));
  const CaseEnd end = program_->end().end;
  EXPECT_EQ(end.outcome, Outcome::error);
  EXPECT_THAT(end.reason, HasSubstr("comes before the pass of its last turn"));
}

TEST_F(ExternalInterleaveTest, OneThatAsksInVainIsEndedAtOnce) {
  struct Vain {
    const char* turn;
    bool takes_turns;
    const char* reason;
  };
  for (const auto& [turn, takes_turns, reason] :
       {Vain{R"({"pass": "forward", "taken": 0, "planned": 8})", false, "in a case that has none"},
        Vain{R"({"pass": "sideways", "taken": 0, "planned": 8})", true,
             "'sideways', which is no pass"},
        Vain{R"({"pass": "forward", "taken": 0, "planned": 0})", true, "without planning a sample"},
        Vain{R"({"pass": "forward", "taken": 0})", true, "malformed"},
        Vain{R"("forward")", true, "malformed"}}) {
    SCOPED_TRACE(turn);
    EXPECT_FALSE(start(std::string("echo '{\"turn\": ") + turn + "}'; sleep 600", takes_turns));
    const CaseEnd end = program_->end().end;
    EXPECT_EQ(end.outcome, Outcome::error);
    EXPECT_THAT(end.reason, HasSubstr(reason));
  }
}

}  // namespace
}  // namespace assay::run
