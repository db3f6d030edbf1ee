// A launch of real agents on this machine: what is left of it where ranks are lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "run/launch/job.h"
#include "run/launch/seat_watch.h"
#include "run/process/temporary_folder.h"
#include "run/schedule/health_policy.h"

namespace assay::run {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::chrono::seconds soon(60);

class RankJobTest : public ::testing::Test {
 protected:
  // Each rank by a shell's words, ahead of `assay worker`.
  void start(const std::string& words, bool simulate_nodes = false) {
    LaunchRequest request;
    request.launcher.name = "test";
    request.launcher.each_rank = true;
    request.launcher.command = {{"sh", "-c", words + "exec {assay} worker"}};
    request.control = "127.0.0.1";
    request.simulate_nodes = simulate_nodes;
    auto job = RankJob::start(installation_, request, {1, 2}, &interrupt_, [](const auto&) {});
    ASSERT_TRUE(job) << job.error().text();
    job_ = std::move(*job);
    seats_ = job_->seats(2, 1, false).all;
    ASSERT_EQ(seats_.size(), 2u);
  }
  void start_by_hand(const std::string& words = "") {
    start(words + "RANK={rank} WORLD_SIZE={ranks} LOCAL_RANK={rank} ");
  }
  void kill(std::size_t rank) {
    const auto agent = job_->agent(rank);
    ::kill(agent->place().pid, SIGKILL);
    agent->await([] { return false; }, soon);
    ASSERT_THAT(agent->lost(), HasSubstr("has ended"));
  }
  void write(const std::string& name, const std::string& text = "") const {
    std::ofstream(folder_.path() / name) << text;
  }
  std::string in_folder(const std::string& name) const { return folder_.path() / name; }
  // Whether the agent still has the watch that its newest call but one began.
  static bool watches_still(Agent& agent) {
    const int newest = agent.ask("clock");
    EXPECT_TRUE(agent.answer(newest, soon));
    const auto answer = agent.asked("watched", {{"watch", newest - 1},
                                                {"devices", nlohmann::json::array()},
                                                {"ranks", 1},
                                                {"processes", 1}});
    return answer.has_value();
  }

  const Installation installation_{
      ASSAY_BUILD_DIR "/bin/assay", ASSAY_BUILD_DIR "/lib/libassay_worker.so", {}, {}};
  const TemporaryFolder folder_{"rank-job-test"};
  Interrupt interrupt_;
  std::unique_ptr<RankJob> job_;
  std::vector<Seat> seats_;
};

TEST_F(RankJobTest, ACaseThatBringsALostRankBackIsWatched) {
  start_by_hand();
  const int before = job_->places()[0].pid;
  kill(0);
  SeatWatch watch(*job_, 2, 1, false);
  watch.begin();
  EXPECT_NE(job_->places()[0].pid, before);
  EXPECT_EQ(job_->agent(0)->lost(), "");
  EXPECT_TRUE(watch.end(0).health.contains("readings")) << "of the node's cores";
}

TEST_F(RankJobTest, AnAgentEndsTheWatchOfACaseThatIsGivenUp) {
  start_by_hand();
  const auto agent = job_->agent(0);
  SeatWatch kept(*job_, 2, 1, false);
  kept.begin();
  EXPECT_TRUE(watches_still(*agent));

  kept.begin();
  kept.drop();
  EXPECT_FALSE(watches_still(*agent));

  health::Watch here({});
  WatchedCase watched(here, SeatWatch(*job_, 2, 1, false), "mark");
  watched.begin();
  const WatchedCase moved = std::move(watched);
  EXPECT_TRUE(watches_still(*agent));
  {
    WatchedCase gone(here, SeatWatch(*job_, 2, 1, false), "mark");
    gone.begin();
  }
  EXPECT_FALSE(watches_still(*agent));
}

TEST_F(RankJobTest, TheUserStopsWhatBringsARankBack) {
  start_by_hand("test -e " + in_folder("hang") + " && exec sleep 1000; ");
  kill(1);
  write("hang");
  ::raise(SIGINT);
  const auto back = job_->bring_back(seats_);
  ASSERT_FALSE(back);
  EXPECT_TRUE(is_stopped_by_user(back.error())) << back.error().text();
  const auto workers = job_->start_workers(seats_, "token");
  ASSERT_FALSE(workers);
  EXPECT_TRUE(is_stopped_by_user(workers.error())) << workers.error().text();
}

TEST_F(RankJobTest, AFailureToBringARankBackLeavesTheLaunchAsItWas) {
  write("node", "n1");
  start("SLURM_PROCID={rank} SLURM_NTASKS={ranks} SLURM_LOCALID={rank} SLURMD_NODENAME=$(cat " +
            in_folder("node") + ") ",
        true);
  ASSERT_EQ(job_->nodes().all.size(), 1u);
  const int before = job_->places()[1].pid;
  kill(1);
  write("node", "n2");
  const auto back = job_->bring_back(seats_);
  ASSERT_FALSE(back);
  EXPECT_THAT(back.error().text(), HasSubstr("2 nodes came instead of 1"));
  EXPECT_FALSE(is_stopped_by_user(back.error()));
  EXPECT_EQ(job_->nodes().all.size(), 1u);
  EXPECT_EQ(job_->places()[1].node, "n1");
  EXPECT_EQ(job_->places()[1].pid, before);
  EXPECT_EQ(job_->seats(2, 1, false).all, seats_);
  // The rank that is left can still be used.
  EXPECT_TRUE(job_->bring_back({seats_[0]}));
  EXPECT_TRUE(job_->agent(0)->asked("clock", nlohmann::json::object()));
}

class AgentFilesTest : public RankJobTest {
 protected:
  void SetUp() override {
    start_by_hand();
    agent_ = job_->agent(0);
  }
  std::unique_ptr<AgentRank> worker() {
    return std::make_unique<AgentRank>(agent_, agent_->start({}));
  }
  // What its first case leaves.
  static fs::path leave(const AgentRank& worker, const std::string& name) {
    const fs::path file = fs::path(*worker.folder()) / "0" / "0" / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << name;
    return file;
  }
  // Once the agent has done what it was asked.
  void let_it_do_all() { ASSERT_TRUE(agent_->asked("clock", nlohmann::json::object())); }

  std::shared_ptr<Agent> agent_;
};

TEST_F(AgentFilesTest, WorkersHaveFoldersOfTheirOwnWhichEndWithThem) {
  auto one = worker();
  const auto other = worker();
  const fs::path of_one = leave(*one, "one");
  const fs::path of_other = leave(*other, "other");
  const auto taken = one->take_file("0/0/one", in_folder("taken"), 100);
  ASSERT_TRUE(taken) << taken.error().text();
  EXPECT_EQ(*taken, 3);
  std::string text;
  std::ifstream(in_folder("taken")) >> text;
  EXPECT_EQ(text, "one");
  EXPECT_FALSE(one->take_file("0/0/other", in_folder("other"), 100));

  one->remove_case(0);
  let_it_do_all();
  EXPECT_FALSE(fs::exists(of_one));
  EXPECT_TRUE(fs::exists(of_other));

  leave(*one, "later");
  const fs::path folder = *one->folder();
  one.reset();
  let_it_do_all();
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(fs::exists(of_other));
}

TEST_F(AgentFilesTest, AFileOverItsLimitIsNotCopied) {
  const auto one = worker();
  const fs::path huge = leave(*one, "huge");
  constexpr std::int64_t bytes = std::int64_t{100} << 30;
  fs::resize_file(huge, bytes);
  const auto told = one->take_file("0/0/huge", in_folder("huge"), 1 << 20);
  ASSERT_TRUE(told) << told.error().text();
  EXPECT_EQ(*told, bytes);
  EXPECT_FALSE(fs::exists(in_folder("huge")));
}

}  // namespace
}  // namespace assay::run
