// kill -9 of workers and of the host at random moments of runs. ASSAY_FAULT_KILLS is their number:
// 200 for the page, fewer in a test run.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <random>

#include "trial.h"

namespace assay::faults {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;

constexpr unsigned seed = 1;

int kills_wanted() { return number_from_environment("ASSAY_FAULT_KILLS", 8); }

// No more kills after this time: a few are enough where a worker starts in half a minute.
std::chrono::steady_clock::time_point end_of_kills() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(10) * kills_wanted();
}

// Waits for a random number of finished cases and a random part of a case longer.
class RandomMoment {
 public:
  // start_s: from the start of a run to its first finished case; case_s: a case.
  RandomMoment(double start_s, double case_s) : start_s_(start_s), case_s_(case_s) {}

  void wait(Host& host, std::size_t cases) {
    const auto finished = std::uniform_int_distribution<std::size_t>(0, cases)(random_);
    const bool reached = wait_until(
        200, [&] { return reported(host.errors()).size() >= finished || !host.running(); });
    EXPECT_TRUE(reached);
    const double longest_s = finished == 0 ? start_s_ : 1.5 * case_s_;
    std::this_thread::sleep_for(std::chrono::duration<double>(
        std::uniform_real_distribution<double>(0, longest_s)(random_)));
  }

 private:
  std::mt19937 random_{seed};
  double start_s_;
  double case_s_;
};

// 30 cases of a few milliseconds.
constexpr const char* quick_cases =
    "experiment: kills\nworkload: attention\n"
    "matrix: {seq_len: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, "
    "22, 23, 24, 25, 26, 27, 28, 29, 30]}\n"
    "fixed: {batch: 1, heads: 1, d_head: 8, attention: naive, device: cpu}\n"
    "measure: {passes: [forward], warmup: 1, samples: 3}\n";
constexpr std::size_t quick_count = 30;

// The stored cases as progress lines describe them.
std::set<std::string> cases_in(const store::Run& run) {
  std::set<std::string> stored;
  for (const auto& result : run.cases) {
    stored.insert("seq_len=" + store::text_of(result.parameters, "seq_len"));
  }
  return stored;
}

// A run and its resumes until one ends by itself.
class KilledRun {
 public:
  explicit KilledRun(const Trial& trial) : trial_(trial) {}

  // One attempt; kills it at the moment unless it ends before.
  void attempt(RandomMoment* moment) {
    const std::set<std::string> before = cases_in(begun_ ? trial_.stored() : store::Run{});
    std::vector<std::string> arguments = {"run", "kills.yaml"};
    if (begun_) arguments.push_back("--resume");
    Host host(trial_.command(arguments));
    if (moment != nullptr) moment->wait(host, quick_count - before.size());
    killed_ = moment != nullptr && host.running();
    if (killed_) host.send(SIGKILL);
    const End end = host.wait();
    trial_.saw(end);
    EXPECT_EQ(host.left_behind(), "") << "processes outlived their host";
    for (const auto& [description, outcome] : reported(end.errors)) {
      EXPECT_EQ(outcome, "ok") << description << " in:\n" << end.errors;
      EXPECT_FALSE(before.contains(description)) << description << " was measured again";
      finished_.insert(description);
    }
    trial_.expect_sound();
    if (!killed_) {
      EXPECT_EQ(end.exit_code, 0) << end.errors;
    }
    begun_ = begun_ || trial_.run_names().size() > runs_before_;
    if (begun_) {
      EXPECT_THAT(finished_, IsSubsetOf(cases_in(trial_.stored())));
    }
  }

  bool killed() const { return killed_; }
  std::size_t finished() const { return finished_.size(); }

 private:
  const Trial& trial_;
  std::size_t runs_before_ = trial_.run_names().size();
  bool begun_ = false;
  bool killed_ = false;
  std::set<std::string> finished_;
};

TEST(Kill, OfTheHostAtRandomMomentsLosesNothing) {
  Trial undisturbed("Kills");
  undisturbed.folder().write("kills.yaml", quick_cases);
  Host host(undisturbed.command({"run", "kills.yaml"}));
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  ASSERT_TRUE(wait_until(100, [&] { return !reported(host.errors()).empty(); }));
  const double start_s = seconds();
  ASSERT_EQ(host.wait().exit_code, 0);
  RandomMoment moment(start_s, (seconds() - start_s) / quick_count);
  const auto expected = series_of(undisturbed.stored());
  ASSERT_GE(expected.size(), quick_count);

  Trial trial("Kills");
  trial.folder().write("kills.yaml", quick_cases);
  int kills = 0, runs = 0;
  const auto deadline = end_of_kills();
  const auto go_on = [&] {
    return kills < kills_wanted() && std::chrono::steady_clock::now() < deadline;
  };
  while (go_on() && !HasFailure()) {
    KilledRun run(trial);
    ++runs;
    do {
      run.attempt(go_on() ? &moment : nullptr);
      kills += run.killed() ? 1 : 0;
    } while (run.killed() && !HasFailure());
    // The same cases, passes, metrics and outcomes as without kills.
    EXPECT_EQ(series_of(trial.stored()), expected);
    EXPECT_EQ(trial.stored().cases.size(), quick_count);
  }
  trial.record(
      fmt::format("kill -9 of the host at {} random moments of {} runs of {} cases, each resumed "
                  "until it was through (seed {})",
                  kills, runs, quick_count, seed),
      "every run completed",
      "after each kill the database was sound and held every case told as finished, once; no "
      "process "
      "was left; each run ended with the same series as an undisturbed one",
      fmt::format("{0} of {0} ok", runs * quick_count));
}

// Cases of about 0.3 s, so that a kill hits the start of a worker, a case and the time between two.
TEST(Kill, OfWorkersAtRandomMomentsCostsOneCaseEach) {
  Trial trial("Kills");
  constexpr std::size_t count = 10;
  trial.folder().write(
      "kills.yaml",
      "experiment: kills\nworkload: attention\n"
      "matrix: {seq_len: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n"
      "fixed: {batch: 1, heads: 1, d_head: 8, attention: {hostile: {fault: nap}}, device: cpu}\n"
      "measure: {passes: [forward], warmup: 2, samples: 10}\n");
  const std::string plugin = test::fixture("hostile_attention");
  ASSERT_EQ(trial.run({"run", "kills.yaml", "--plugin", plugin}).exit_code, 0);
  const auto undisturbed = series_of(trial.stored());
  const auto deadline = end_of_kills();
  std::mt19937 random(seed);
  double start_s = 0;  // until the first case of a run is finished
  int kills = 0, runs = 0;
  std::size_t struck = 0;
  std::string reason;
  while (kills < kills_wanted() && std::chrono::steady_clock::now() < deadline && !HasFailure()) {
    ++runs;
    const auto start = std::chrono::steady_clock::now();
    Host host(trial.command({"run", "kills.yaml", "--plugin", plugin}));
    if (runs == 1) {
      ASSERT_TRUE(wait_until(100, [&] { return !reported(host.errors()).empty(); }))
          << host.errors();
      start_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    std::uniform_real_distribution<double> pause_s(0, 1.7 * start_s);
    int kills_here = 0;
    while (host.running() && kills + kills_here < kills_wanted() &&
           std::chrono::steady_clock::now() < deadline) {
      const auto until =
          std::chrono::steady_clock::now() + std::chrono::duration<double>(pause_s(random));
      wait_until(200, [&] { return std::chrono::steady_clock::now() > until || !host.running(); });
      for (const pid_t worker : host.workers()) {
        if (::kill(worker, SIGKILL) == 0) ++kills_here;
      }
    }
    kills += kills_here;
    const End end = host.wait();
    trial.saw(end);
    EXPECT_EQ(host.left_behind(), "");
    trial.expect_sound();
    auto run = trial.stored();
    ASSERT_EQ(run.cases.size(), count) << end.errors;
    std::size_t crashed = 0;
    for (const auto& result : run.cases) {
      if (result.outcome == Outcome::ok) continue;
      ++crashed;
      EXPECT_EQ(result.outcome, Outcome::crashed) << result.reason;
      EXPECT_THAT(result.reason, HasSubstr("SIGKILL"));
      reason = result.reason;
    }
    EXPECT_LE(crashed, static_cast<std::size_t>(kills_here));
    EXPECT_EQ(end.exit_code, crashed > 0 ? 1 : 0);
    struck += crashed;
    if (crashed == 0) continue;
    const End retried = trial.run({"run", "kills.yaml", "--plugin", plugin, "--retry", "crashed"});
    EXPECT_EQ(retried.exit_code, 0) << retried.errors;
    EXPECT_EQ(reported(retried.errors).size(), crashed) << "only what crashed is run again";
    run = trial.stored();
    ASSERT_EQ(run.cases.size(), count);
    for (const auto& result : run.cases) EXPECT_EQ(result.outcome, Outcome::ok) << result.reason;
    EXPECT_EQ(series_of(run), undisturbed);
    trial.expect_sound();
  }
  trial.record(fmt::format("kill -9 of the worker at {} random moments of {} runs of {} cases, "
                           "followed by --retry crashed (seed {})",
                           kills, runs, count, seed),
               fmt::format("{} cases `crashed`, ok when retried", struck), reason,
               fmt::format("{} of {} ok at once", runs * count - struck, runs * count - struck),
               /*may_vary=*/true);  // a worker is hit in a case or as it starts
}

}  // namespace
}  // namespace assay::faults
