#include "run/schedule/health_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace assay::run {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A GPU whose readings the test sets.
class ScriptedGpu : public health::Source {
 public:
  void read(health::Depth, const std::vector<int>& devices, health::Reading& reading) override {
    for (const int device : devices) {
      health::GpuReading gpu;
      gpu.device = device;
      gpu.clock_reasons = reasons;
      gpu.processes.emplace();
      if (shared) gpu.processes->push_back({7, "python", health::GpuProcess::Owner::others});
      reading.gpus.push_back(std::move(gpu));
    }
  }
  std::string subject() const override { return "GPU"; }
  std::string problem() const override { return ""; }

  std::atomic<std::uint64_t> reasons = 0;
  std::atomic<bool> shared = false;
};

struct Script {
  bool throttled = false;
  bool drifts = false;
  Outcome outcome = Outcome::ok;
};

class HealthPolicyTest : public ::testing::Test {
 protected:
  HealthPolicyTest() : watch_({gpu_}, {.glance_every_s = 1e6, .look_every_s = 0}) {
    resolved_.request.parameters["measure.unhealthy"] = std::string("mark");
  }

  CaseEnd run(const std::string& policy, std::vector<Script> tries) {
    resolved_.request.parameters["measure.unhealthy"] = policy;
    measured_ = 0;
    said_.clear();
    be(tries.at(0));
    WatchedCase watched = watch();
    watched.begin();
    watched.end(measure(tries.at(measured_++)));
    for (auto next = watched.next_try(); next && !stopping_; next = watched.next_try()) {
      said_.push_back(*next);
      be(tries.at(measured_));
      watched.begin();
      watched.end(measure(tries.at(measured_++)));
    }
    return *watched.conclude();
  }

  WatchedCase watch() {
    return {
        watch_, {{0}, 1, 1, 1}, store::text_of(resolved_.request.parameters, "measure.unhealthy")};
  }

  // Set before a try begins: the watch may read at any moment of it.
  void be(const Script& script) {
    gpu_->reasons = script.throttled ? health::clock_reason::power_cap : 0;
  }

  CaseEnd measure(const Script& script) {
    CaseEnd end;
    end.outcome = script.outcome;
    end.facts.extra["from_the_worker"] = measured_;
    store::Series time;
    time.pass = "forward";
    time.metric = "time";
    time.unit = "s";
    time.clock = "wall";
    for (int i = 0; i < 30; ++i) {
      time.samples.push_back(static_cast<double>(measured_) + (script.drifts ? 0.003 * i : 0));
    }
    store::Series memory;
    memory.pass = "forward";
    memory.metric = "peak_memory";
    memory.samples = {1};
    end.series = {time, memory};
    return end;
  }

  static std::vector<std::string> marks(const CaseEnd& end) {
    std::vector<std::string> words;
    for (const store::Mark& mark : end.facts.marks) words.push_back(mark.mark);
    return words;
  }

  std::shared_ptr<ScriptedGpu> gpu_ = std::make_shared<ScriptedGpu>();
  health::Watch watch_;
  ResolvedCase resolved_;
  std::size_t measured_ = 0;
  std::vector<std::string> said_;
  bool stopping_ = false;
};

TEST_F(HealthPolicyTest, AFitCaseHasHealthAndNoMarks) {
  const CaseEnd end = run("mark", {{}});
  EXPECT_THAT(marks(end), IsEmpty());
  EXPECT_FALSE(to_json(end.facts).contains("marks"));
  EXPECT_EQ(end.facts.health["gpus"][0]["device"], 0);
  EXPECT_EQ(end.facts.extra["from_the_worker"], 1) << "beside what the worker said";
}

TEST_F(HealthPolicyTest, MarkMarks) {
  const CaseEnd end = run("mark", {{.throttled = true, .drifts = true}});
  EXPECT_THAT(marks(end), ElementsAre("throttled", "drifting"));
  EXPECT_EQ(end.facts.marks[0].pass, "");
  EXPECT_EQ(end.facts.marks[1].pass, "forward");
  EXPECT_THAT(end.facts.discarded, IsEmpty());
  EXPECT_FALSE(end.facts.health.contains("tries"));
}

TEST_F(HealthPolicyTest, MarksJoinThoseOfOthers) {
  be({.throttled = true});
  WatchedCase watched = watch();
  watched.begin();
  CaseEnd leaky = measure({});
  leaky.facts.marks.push_back({.mark = "leak"});
  watched.end(std::move(leaky));
  const CaseEnd end = *watched.conclude();
  EXPECT_THAT(marks(end), ElementsAre("leak", "throttled"));
}

TEST_F(HealthPolicyTest, RetryEndsWithTheFirstFitTry) {
  const CaseEnd end = run("retry", {{.throttled = true}, {}, {}});
  EXPECT_EQ(measured_, 2u);
  EXPECT_THAT(marks(end), IsEmpty());
  EXPECT_EQ(end.series[0].samples[0], 2.0) << "the second try's";
  EXPECT_EQ(end.facts.health["tries"], nlohmann::json({"throttled", "fit"}));
  EXPECT_EQ(end.facts.health["kept_try"], 2);
  EXPECT_THAT(said_, ElementsAre("try 2 of 3, the last was throttled"));
}

TEST_F(HealthPolicyTest, RetryKeepsTheTryWithTheFewestMarks) {
  const CaseEnd end = run("retry", {{.throttled = true, .drifts = true},
                                    {.throttled = true},
                                    {.throttled = true, .drifts = true}});
  EXPECT_EQ(measured_, 3u);
  EXPECT_THAT(marks(end), ElementsAre("throttled"));
  EXPECT_EQ(end.series[0].samples[0], 2.0);
  EXPECT_EQ(end.facts.extra["from_the_worker"], 2);
}

TEST_F(HealthPolicyTest, OfEqualTriesTheFirstIsKept) {
  const CaseEnd end = run("retry", {{.throttled = true}, {.throttled = true}, {.drifts = true}});
  EXPECT_EQ(end.series[0].samples[0], 1.0);
  EXPECT_EQ(end.facts.health["kept_try"], 1);
}

TEST_F(HealthPolicyTest, ATryThatFailsDoesNotReplaceOneThatWorked) {
  const CaseEnd end = run("retry", {{.throttled = true}, {.outcome = Outcome::crashed}, {}});
  EXPECT_EQ(end.outcome, Outcome::ok);
  EXPECT_EQ(end.facts.health["tries"], nlohmann::json({"throttled", "crashed", "fit"}));
  EXPECT_EQ(end.facts.health["kept_try"], 3);
}

TEST_F(HealthPolicyTest, WhatFailedIsNotTriedAgain) {
  const CaseEnd end = run("retry", {{.throttled = true, .outcome = Outcome::oom}});
  EXPECT_EQ(measured_, 1u);
  EXPECT_EQ(end.outcome, Outcome::oom);
  EXPECT_THAT(marks(end), ElementsAre("throttled")) << "it may be why";
}

TEST_F(HealthPolicyTest, AnInterruptedRunDoesNotTryAgain) {
  stopping_ = true;
  const CaseEnd end = run("retry", {{.throttled = true}});
  EXPECT_EQ(measured_, 1u);
  EXPECT_EQ(end.outcome, Outcome::ok);
}

TEST_F(HealthPolicyTest, DiscardNamesThePassesAndKeepsTheSamples) {
  const CaseEnd throttled = run("discard", {{.throttled = true}});
  EXPECT_EQ(throttled.outcome, Outcome::ok);
  EXPECT_THAT(throttled.facts.discarded, ElementsAre(std::pair("forward", "throttled")));
  EXPECT_EQ(throttled.series[0].samples.size(), 30u);
  const CaseEnd drifting = run("discard", {{.drifts = true}});
  EXPECT_THAT(drifting.facts.discarded, ElementsAre(std::pair("forward", "drifting")));
  EXPECT_THAT(run("discard", {{}}).facts.discarded, IsEmpty());
}

// Ranks that wait for each other's turn on a core measure the scheduler.
TEST_F(HealthPolicyTest, MoreRanksThanCoresAreMarkedAndNotTriedAgain) {
  health::Needs needs;
  needs.cores = needs.cores_there = 2;
  for (const int ranks : {2, 8}) {
    needs.ranks = ranks;
    WatchedCase watched(watch_, needs, "retry");
    be({});
    watched.begin();
    watched.end(measure({}));
    EXPECT_FALSE(watched.next_try());
    const auto kept = watched.conclude();
    ASSERT_TRUE(kept);
    if (ranks == 2) {
      EXPECT_THAT(kept->facts.marks, IsEmpty());
      continue;
    }
    ASSERT_EQ(kept->facts.marks.size(), 1u);
    EXPECT_EQ(kept->facts.marks[0].mark, "crowded");
    EXPECT_EQ(kept->facts.marks[0].reason, "8 ranks share 2 cores");
  }
}

TEST_F(HealthPolicyTest, ATryThatStandsInIsKeptUntilAnotherSucceeds) {
  const auto kept_of = [&](const Script& later) {
    measured_ = 0;
    WatchedCase watched = watch();
    for (const Script& script : {Script(), later}) {
      be(script);
      watched.begin();
      CaseEnd end = measure(script);
      watched.end(std::move(end), 0, measured_++ == 0);
    }
    return watched.conclude()->facts.extra["from_the_worker"];
  };
  EXPECT_EQ(kept_of({.throttled = true}), 1) << "although it is marked";
  EXPECT_EQ(kept_of({.outcome = Outcome::crashed}), 0);
}

TEST_F(HealthPolicyTest, ASkippedCaseHasNoHealth) {
  const CaseEnd end = run("mark", {{.outcome = Outcome::skipped}});
  EXPECT_TRUE(end.facts.health.is_null());
}

TEST_F(HealthPolicyTest, AnInterruptedTryDoesNotCount) {
  resolved_.request.parameters["measure.unhealthy"] = std::string("retry");
  CaseEnd interrupted = measure({});
  interrupted.interrupted = true;
  WatchedCase watched = watch();
  watched.begin();
  watched.end(interrupted);
  EXPECT_FALSE(watched.conclude());
  be({.throttled = true});
  watched.begin();
  watched.end(measure({}));
  ASSERT_TRUE(watched.next_try());
  watched.begin();
  watched.end(interrupted);
  const auto kept = watched.conclude();
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->facts.health.contains("tries"));
}

class NeedsTest : public ::testing::Test {
 protected:
  NeedsTest() : cpus_({"/nowhere", {0, 1, 2, 3, 4, 5, 6, 7}, 1}) {}
  health::Needs needs(const std::string& device, std::int64_t ranks, const char* threads) {
    ResolvedCase resolved;
    resolved.request.parameters["device"] = device;
    resolved.request.parameters["world_size"] = ranks;
    return needs_of(resolved, cpus_, threads);
  }
  health::CpuSource cpus_;
};

TEST_F(NeedsTest, AProgramAndTheWorkerThatChecksItAreTwoProcesses) {
  catalogue::PluginInfo program;
  ResolvedCase resolved;
  resolved.external = &program;
  resolved.request.parameters["device"] = std::string("cuda");
  resolved.request.parameters["world_size"] = std::int64_t{1};
  EXPECT_EQ(needs_of(resolved, cpus_, nullptr).processes, 2);
}

TEST_F(NeedsTest, OnTheCpuACaseNeedsEveryCoreOrItsThreads) {
  EXPECT_EQ(needs("cpu", 1, nullptr).cores, 8);
  EXPECT_EQ(needs("cpu", 1, "3").cores, 3);
  EXPECT_EQ(needs("cpu", 2, "3").cores, 6);
  EXPECT_EQ(needs("cpu", 1, "many").cores, 8);
  EXPECT_THAT(needs("cpu", 2, nullptr).devices, IsEmpty());
  EXPECT_EQ(needs("cpu", 2, nullptr).ranks, 2);
}

TEST_F(NeedsTest, OnGpusACaseNeedsOneAndTwoCoresARank) {
  const health::Needs two = needs("cuda", 2, "1");
  EXPECT_THAT(two.devices, ElementsAre(0, 1));
  EXPECT_EQ(two.processes, 2);
  EXPECT_EQ(two.cores, 4);
  EXPECT_EQ(two.cores_there, 8);
}

}  // namespace
}  // namespace assay::run
