// Ranks that a launch engine starts, and their nodes: what goes wrong costs its case alone.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "../end_to_end/support/two_nodes.h"
#include "rank_faults.h"
#include "struck_case.h"

namespace assay::faults {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr const char* group = "Ranks that a launcher starts";

// Each rank by a command of its own, as ssh does.
constexpr const char* by_hand =
    "description: Each rank by its own command.\neach: rank\n"
    "command: [env, \"RANK={rank}\", \"WORLD_SIZE={ranks}\", \"LOCAL_RANK={local_rank}\",\n"
    "          \"{assay}\", worker]\n";

class LaunchedRank : public ::testing::TestWithParam<RankFault> {};

TEST_P(LaunchedRank, EndsTheCaseForAllOfThem) {
  expect_ends_the_case_for_all("cpu", group, GetParam(), by_hand);
}

std::vector<RankFault> faults_of_launched_ranks() {
  std::vector<RankFault> chosen;
  for (const RankFault& fault : rank_faults()) {
    const bool dies = fault.fault == "kill" || fault.fault == "segfault";
    if (dies || (fault.fault == "hang" && fault.moment == "within")) chosen.push_back(fault);
  }
  for (const RankFault& fault : faults_of_other_ranks()) {
    if (fault.moment == "verifying" && fault.culprit == 1) chosen.push_back(fault);
  }
  return chosen;
}

INSTANTIATE_TEST_SUITE_P(Faults, LaunchedRank, ::testing::ValuesIn(faults_of_launched_ranks()),
                         [](const auto& tested) { return tested.param.name(); });

class LaunchFault : public ::testing::Test {
 protected:
  void write(const std::string& cases) {
    trial_.folder().write("ranks.yaml",
                          "experiment: ranks\nworkload: hostile_ranks\nfixed: {device: cpu}\n"
                          "measure: {warmup: 1, samples: 2, timeout: 2 min}\ninclude:\n" +
                              cases);
  }
  std::vector<std::string> words(const std::string& launcher,
                                 std::vector<std::string> more = {}) const {
    trial_.folder().write("launcher.yaml", launcher);
    std::vector<std::string> all = {"run",        "ranks.yaml",
                                    "--plugin",   test::fixture("hostile_ranks"),
                                    "--launcher", "./launcher.yaml"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // The run ends before its first case, with this regular expression.
  void expect_refused(const std::string& done, const std::string& launcher,
                      const std::string& expression, const std::string& reason) {
    write("  - {fault: none, world_size: 2}\n");
    const End end = trial_.run(words(launcher));
    EXPECT_EQ(end.exit_code, 3) << end.output << end.errors;
    EXPECT_THAT(end.errors, ContainsRegex(expression));
    trial_.record(done, "exit code 3", reason, "nothing was run");
  }
  std::vector<pid_t> agents(const Host& host) const {
    std::vector<pid_t> found;
    for (const pid_t member : host.family()) {
      const auto text = [&](const char* file) {
        std::ifstream stream(fmt::format("/proc/{}/{}", member, file));
        return std::string(std::istreambuf_iterator<char>(stream), {});
      };
      const std::string line = text("cmdline");
      if (text("comm") != "assay\n") continue;  // subreapers have its command line
      if (line.ends_with(std::string("worker\0", 7))) found.push_back(member);
    }
    return found;
  }

  static std::string network_of(pid_t process) {
    std::error_code gone;
    return std::filesystem::read_symlink(fmt::format("/proc/{}/ns/net", process), gone).string();
  }

  Trial trial_{group};
};

TEST_F(LaunchFault, WorldsOfTwoSizes) {
  expect_refused(
      "rank 1 of 2 is started as one of a world of 3",
      "description: x\neach: rank\n"
      "command: [sh, -c, \"RANK={rank} WORLD_SIZE=$((2 + {rank})) exec {assay} worker\"]\n",
      "rank 1 on [^ ]+ is of a world of 3 ranks, this launch has 2",
      "rank 1 is of a world of 3 ranks, this launch has 2");
}

TEST_F(LaunchFault, ARankThatDoesNotArrive) {
  trial_.environment["ASSAY_LOAD_TIMEOUT"] = "5 s";
  expect_refused("rank 1 does not arrive; loading may take 5 s",
                 "description: x\neach: rank\n"
                 "command: [sh, -c, \"test {rank} = 1 && exec sleep 1000; RANK={rank} "
                 "WORLD_SIZE={ranks} exec {assay} worker\"]\n",
                 "of 2 ranks, rank 1 did not arrive within 5(\\.0)? s",
                 "of 2 ranks, rank 1 did not arrive within 5 s");
}

TEST_F(LaunchFault, NoRankArrives) {
  trial_.environment["ASSAY_LOAD_TIMEOUT"] = "2 s";
  write("  - {fault: none, world_size: 2}\n");
  const End end = trial_.run(
      {"run", "ranks.yaml", "--plugin", test::fixture("hostile_ranks"), "--launcher", "wait"});
  EXPECT_EQ(end.exit_code, 3) << end.output << end.errors;
  EXPECT_THAT(end.errors, ContainsRegex("no rank has arrived within 2(\\.0)? s"));
  trial_.record("nobody starts the ranks that are waited for; loading may take 2 s", "exit code 3",
                "no rank has arrived within 2 s", "nothing was run");
}

TEST_F(LaunchFault, TheLauncherFails) {
  expect_refused("the launcher's command ends with exit code 7",
                 "description: x\ncommand: [sh, -c, \"echo no such partition; exit 7\"]\n",
                 "the launcher ended with exit code 7 before ranks 0, 1 had arrived; the launcher "
                 "printed: no such partition",
                 "the launcher ended with exit code 7 before ranks 0, 1 had arrived");
}

TEST_F(LaunchFault, ThePortIsTaken) {
  write("  - {fault: none, world_size: 2}\n  - {fault: none, world_size: 1}\n");
  const std::string port = std::to_string(20000 + ::getpid() % 10000);
  trial_.environment["PORT"] = port;
  const End end = trial_.run(
      words("description: x\neach: rank\n"
            "command: [env, \"RANK={rank}\", \"WORLD_SIZE={ranks}\", MASTER_ADDR=127.0.0.1,\n"
            "          \"MASTER_PORT={PORT}\", \"{assay}\", worker]\n",
            {"--control", "127.0.0.1:" + port}));
  const Struck struck{0,
                      2,
                      "crashed",
                      fmt::format("^rank 0 on [^ ]+ cannot bind port {} at 127.0.0.1: Address "
                                  "already in use$",
                                  port),
                      "",
                      "",
                      true};
  const auto result = expect_told_everywhere(trial_, end, struck);
  ASSERT_TRUE(result);
  trial_.record("the rendezvous' port is taken", "`crashed`",
                "rank 0 cannot bind the port: Address already in use", "1 of 1 ok");
}

TEST_F(LaunchFault, TheRendezvousIsUnreachable) {
  write("  - {fault: none, world_size: 2}\n  - {fault: none, world_size: 1}\n");
  // Set aside for documentation (RFC 5737): nobody has it.
  const End end = trial_.run(
      words("description: x\neach: rank\n"
            "command: [env, \"RANK={rank}\", \"WORLD_SIZE={ranks}\", MASTER_ADDR=192.0.2.1,\n"
            "          \"{assay}\", worker]\n"));
  const Struck struck{0,
                      2,
                      "crashed",
                      "^the rendezvous at rank 0 cannot be reached: rank 0 on [^ ]+ cannot reach "
                      "the host at 192\\.0\\.2\\.1:[0-9]+: ",
                      "",
                      "",
                      true};
  const auto result = expect_told_everywhere(trial_, end, struck);
  ASSERT_TRUE(result);
  trial_.record("MASTER_ADDR names an address that nobody has", "`crashed`",
                "the rendezvous at rank 0 cannot be reached", "1 of 1 ok");
}

// Rank 0 sees another file in the place of this one, as on a node with another build.
std::string with_another(const std::string& file) {
  return "description: x\neach: rank\n"
         "command: [unshare, -m, sh, -c, \"echo other >other && mount --bind other " +
         file + " && RANK={rank} WORLD_SIZE={ranks} LOCAL_RANK={rank} exec {assay} worker\"]\n";
}

TEST_F(LaunchFault, ARankHasAnotherBuild) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  expect_refused("rank 0 has another worker library",
                 with_another(ASSAY_BUILD_DIR "/lib/libassay_worker.so"),
                 "rank [01] on [^ ]+ has another build of assay: its libassay_worker\\.so has the "
                 "SHA-256 [0-9a-f]{12}, this host's [0-9a-f]{12}",
                 "rank 0 has another build of assay");
}

TEST_F(LaunchFault, ARankHasAnotherPlugin) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  const std::string plugin = test::fixture("hostile_attention");
  trial_.folder().write("ranks.yaml",
                        "experiment: ranks\nworkload: attention\n"
                        "fixed: {batch: 1, heads: 1, d_head: 8, device: cpu}\n"
                        "measure: {passes: [forward], warmup: 1, samples: 2, timeout: 2 min}\n"
                        "include:\n"
                        "  - {attention: naive, seq_len: 8}\n"
                        "  - {attention: hostile, seq_len: 8}\n"
                        "  - {attention: naive, seq_len: 16}\n");
  const End end = trial_.run(words(with_another(plugin), {"--plugin", plugin}));
  const Struck struck{1,
                      3,
                      "error",
                      "^rank 0 on [^ ]+ has another build of '" + plugin +
                          "'; every rank needs the host's, at the same path$",
                      "",
                      "",
                      true};
  const auto result = expect_told_everywhere(trial_, end, struck);
  ASSERT_TRUE(result);
  trial_.record("rank 0 has another build of a plugin", "`error`",
                "rank 0 has another build of the plugin", "2 of 2 ok");
}

// The agent of rank 1 is killed while the ranks are within a collective; the launcher brings up
// others for the next case.
TEST_F(LaunchFault, AnAgentIsKilled) {
  write(
      "  - {fault: none, culprit: 8, world_size: 2}\n"
      "  - {fault: hang, moment: within, culprit: 1, world_size: 2}\n"
      "  - {fault: none, culprit: 9, world_size: 2}\n");
  const auto strikes = trial_.folder().path() / "struck";
  trial_.environment["HOSTILE_RANKS_STRIKE"] = strikes.string();
  Host host(trial_.command(words(by_hand)));
  ASSERT_TRUE(wait_until(100, [&] { return std::filesystem::exists(strikes) || !host.running(); }));
  const auto pids = agents(host);
  ASSERT_EQ(pids.size(), 2u) << host.errors();
  ::kill(pids[1], SIGKILL);
  const End end = host.wait(100);
  EXPECT_EQ(host.left_behind(), "");
  trial_.saw(end);
  const Struck struck{1,  3,  "crashed", "^rank [01] is out of reach: its agent on [^ ]+ has ended",
                      "", "", true};
  const auto result = expect_told_everywhere(trial_, end, struck);
  ASSERT_TRUE(result);
  trial_.record("the agent of a rank is killed (signal 9) within a collective", "`crashed`",
                "rank 1 is out of reach: its agent has ended", "2 of 2 ok");
}

// The launcher's command, run again for a rank that was lost, waits; so the user stops the run.
TEST_F(LaunchFault, InterruptedWhileARankIsBroughtBack) {
  write(
      "  - {fault: none, culprit: 8, world_size: 2}\n"
      "  - {fault: hang, moment: within, culprit: 1, world_size: 2}\n"
      "  - {fault: none, culprit: 9, world_size: 2}\n");
  const auto strikes = trial_.folder().path() / "struck";
  trial_.environment["HOSTILE_RANKS_STRIKE"] = strikes.string();
  const auto command = words(
      "description: x\neach: rank\n"
      "command: [sh, -c, \"test -e wait && echo >waits && exec sleep 1000; RANK={rank} "
      "WORLD_SIZE={ranks} LOCAL_RANK={local_rank} exec {assay} worker\"]\n");
  Host host(trial_.command(command));
  ASSERT_TRUE(wait_until(100, [&] { return std::filesystem::exists(strikes) || !host.running(); }));
  trial_.folder().write("wait", "");
  const auto pids = agents(host);
  ASSERT_EQ(pids.size(), 2u) << host.errors();
  ::kill(pids[1], SIGKILL);
  const auto waits = trial_.folder().path() / "waits";
  ASSERT_TRUE(wait_until(100, [&] { return std::filesystem::exists(waits) || !host.running(); }));
  host.send(SIGINT);
  const End end = host.wait(60);
  EXPECT_EQ(host.left_behind(), "");
  trial_.saw(end);
  EXPECT_EQ(end.exit_code, 1) << end.errors;
  EXPECT_THAT(end.output, ContainsRegex("interrupted; `[^`]*assay run "));
  const auto cases = trial_.stored().cases;
  ASSERT_EQ(cases.size(), 2u) << "the third is not stored";
  EXPECT_EQ(cases[1].outcome, Outcome::crashed);

  std::filesystem::remove(trial_.folder().path() / "wait");
  auto resume = command;
  resume.push_back("--resume");
  const End resumed = trial_.run(resume);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_EQ(trial_.stored().cases.size(), 3u);
  trial_.record(
      "SIGINT while the launcher's command is run again for a lost rank", "exit code 1",
      "it stops at once; the case that needs the rank is not stored, and `--resume` runs it",
      "1 of 1 ok, then 2 of 2");
}

// What is left of the run once the second of two nodes has gone within a collective: the case that
// needs both is lost, the others are measured.
class LostNode : public LaunchFault {
 protected:
  void SetUp() override {
    if (!nodes_.problem().empty()) GTEST_SKIP() << nodes_.problem();
    write(
        "  - {fault: none, culprit: 8, world_size: 2, nodes: 2}\n"
        "  - {fault: hang, moment: within, culprit: 1, world_size: 2, nodes: 2}\n"
        "  - {fault: none, culprit: 9, world_size: 1}\n");
    strikes_ = trial_.folder().path() / "struck";
    trial_.environment["HOSTILE_RANKS_STRIKE"] = strikes_.string();
  }
  void lose(const std::function<void(const Host&)>& strike, const std::string& reason,
            const std::string& done, const std::string& shown) {
    Host::Command command = trial_.command(words(nodes_.launcher(), nodes_.options()));
    command.ahead = nodes_.on_first();
    Host host(command);
    ASSERT_TRUE(
        wait_until(100, [&] { return std::filesystem::exists(strikes_) || !host.running(); }));
    strike(host);
    const End end = host.wait(100);
    EXPECT_EQ(host.left_behind(40), "");
    trial_.saw(end);
    const Struck struck{1, 3, "crashed", reason, "", "", true};
    const auto result = expect_told_everywhere(trial_, end, struck);
    ASSERT_TRUE(result);
    trial_.record(done, "`crashed`", shown, "2 of 2 ok");
  }

  const test::TwoNodes nodes_;
  std::filesystem::path strikes_;
};

TEST_F(LostNode, ItsLinkIsTakenDown) {
  trial_.environment["ASSAY_SILENCE_LIMIT"] = "4 s";
  lose([&](const Host&) { nodes_.cut(); },
       "^rank [01] is out of reach: [^ ]+( \\(2\\))? has not answered for 4 s",
       "the link to a node is taken down within a collective; it may be silent for 4 s",
       "rank 1 is out of reach: its node has not answered for 4 s");
}

TEST_F(LostNode, ItsProcessesAreKilled) {
  lose(
      [&](const Host& host) {
        const auto pids = agents(host);
        ASSERT_EQ(pids.size(), 2u);
        for (const pid_t worker : host.workers()) {
          if (network_of(worker) == network_of(pids[1])) ::kill(worker, SIGKILL);
        }
        ::kill(pids[1], SIGKILL);
      },
      "^rank 1 (is out of reach: its agent on .+ has ended|ended with signal 9)",
      "all processes on a node are killed within a collective",
      "rank 1 is out of reach: its agent has ended");
}

TEST_F(LaunchFault, TheHostIsKilled) {
  write(
      "  - {fault: none, culprit: 8, world_size: 2}\n"
      "  - {fault: hang, moment: within, culprit: 1, world_size: 2}\n");
  const auto strikes = trial_.folder().path() / "struck";
  trial_.environment["HOSTILE_RANKS_STRIKE"] = strikes.string();
  Host host(trial_.command(words(by_hand)));
  ASSERT_TRUE(wait_until(100, [&] { return std::filesystem::exists(strikes) || !host.running(); }));
  EXPECT_EQ(host.workers().size(), 2u) << host.errors();
  host.send(SIGKILL);
  const End end = host.wait(60);
  trial_.saw(end);
  EXPECT_EQ(end.exit_code, 128 + SIGKILL);
  EXPECT_EQ(host.left_behind(), "");
  trial_.record("kill -9 of the host while its ranks are within a collective", "exit code 137",
                "no agent and no rank is left, nor a port", "1 of 1 ok");
}

}  // namespace
}  // namespace assay::faults
