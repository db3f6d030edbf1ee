// Ranks that launch engines start: the main line over Open MPI, Slurm and by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "exported.h"
#include "program.h"
#include "two_nodes.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

bool has_program(const std::string& name) {
  for (const char* folder : {"/usr/bin/", "/usr/sbin/", "/usr/local/bin/"}) {
    if (std::filesystem::exists(folder + name)) return true;
  }
  return false;
}

class LaunchTest : public ::testing::Test {
 protected:
  void write_experiment(const std::string& cases) {
    folder_.write("ranks.yaml",
                  "experiment: ranks\nworkload: hostile_ranks\n"
                  "fixed: {device: cpu, fault: none}\n"
                  "measure: {warmup: 1, samples: 2, timeout: 1 min}\ninclude:\n" +
                      cases);
  }
  Ended run(std::vector<std::string> more, std::vector<std::string> ahead = {}) {
    std::vector<std::string> words = std::move(ahead);
    words.insert(words.end(), {ASSAY_BUILD_DIR "/bin/assay", "run", "ranks.yaml", "--plugin",
                               ASSAY_BUILD_DIR "/tests/fixtures/hostile_ranks.so"});
    words.insert(words.end(), more.begin(), more.end());
    return program(folder_.path(), words);
  }

  Folder folder_;
};

TEST_F(LaunchTest, TwoRanksOverOpenMpi) {
  if (!has_program("mpirun")) GTEST_SKIP() << "mpirun (openmpi-bin) is not installed";
  write_experiment("  - {culprit: 0, world_size: 2}\n  - {culprit: 1, world_size: 1}\n");
  const Ended ended = run({"--launcher", "mpi"});
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("outcomes: 2 ok"));
}

TEST_F(LaunchTest, AWorldLargerThanTheLaunchIsSkippedAndTheRunGoesOn) {
  if (!has_program("mpirun")) GTEST_SKIP() << "mpirun (openmpi-bin) is not installed";
  write_experiment("  - {culprit: 0, world_size: 4}\n  - {culprit: 1, world_size: 2}\n");
  const Ended ended = run({"--launcher", "mpi", "--nodes", "1", "--ranks-per-node", "2"});
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("outcomes: 1 ok, 1 skipped"));
  EXPECT_THAT(ended.output, HasSubstr("needs 4 ranks on each; the launch has 1 node with 2"));
}

TEST_F(LaunchTest, NodesThatAreOneAreRefusedAndDeclaredOnesAreMarked) {
  if (!has_program("mpirun")) GTEST_SKIP() << "mpirun (openmpi-bin) is not installed";
  write_experiment("  - {culprit: 0, world_size: 2, nodes: 2}\n");
  const std::vector<std::string> two = {"--launcher",       "mpi", "--nodes", "2",
                                        "--ranks-per-node", "1"};
  folder_.write("one.yaml",
                "description: Two ranks on one machine, whatever it is called.\n"
                "command: [mpirun, --allow-run-as-root, --oversubscribe, -np, \"{ranks}\",\n"
                "          \"{assay}\", worker]\n");
  const Ended refused = run({"--launcher", "./one.yaml", "--nodes", "2", "--ranks-per-node", "1"});
  EXPECT_EQ(refused.exit_code, 3) << refused.output;
  EXPECT_THAT(refused.errors, HasSubstr("2 nodes are 1 machine by boot id"));
  std::vector<std::string> declared = two;
  declared.emplace_back("--simulate-nodes");
  const Ended ended = run(declared);
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("† simulated nodes"));
  EXPECT_THAT(ended.output, HasSubstr("are parts of 1 machine"));
}

// Two nodes that are one machine: Slurm calls them n1 and n2.
TEST_F(LaunchTest, FourRanksOnTwoNodesOfSlurm) {
  write_experiment("  - {culprit: 0, world_size: 2}\n  - {culprit: 1, world_size: 4, nodes: 2}\n");
  const auto cluster = [&](const char* name) -> std::vector<std::string> {
    return {"sh", ASSAY_SOURCE_DIR "/tests/end_to_end/slurm_cluster.sh",
            (folder_.path() / name).string()};
  };
  const Ended refused = run({"--launcher", "slurm"}, cluster("one"));
  constexpr int cannot = 77;
  if (refused.exit_code == cannot) GTEST_SKIP() << refused.output << refused.errors;
  EXPECT_EQ(refused.exit_code, 3) << refused.output << refused.errors;
  EXPECT_THAT(refused.errors, HasSubstr("2 nodes (n1, n2) are 1 machine"));
  const Ended ended = run({"--launcher", "slurm", "--simulate-nodes"}, cluster("two"));
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("outcomes: 2 ok"));
  EXPECT_THAT(ended.output, HasSubstr("† simulated nodes (1 cell"));
}

TEST_F(LaunchTest, TwoNetworkNamespacesStandForTwoNodes) {
  const TwoNodes nodes;
  if (!nodes.problem().empty()) GTEST_SKIP() << nodes.problem();
  write_experiment("  - {culprit: 0, world_size: 2, nodes: 2}\n");
  folder_.write("nodes.yaml", nodes.launcher());
  std::vector<std::string> options = nodes.options();
  options.insert(options.end(), {"--launcher", "./nodes.yaml"});
  const Ended ended = run(options, nodes.on_first());
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("outcomes: 1 ok"));
  EXPECT_THAT(ended.output, HasSubstr("(network namespaces)"));
  // Machine and health are stored for each node.
  const auto lines = exported(folder_.path());
  ASSERT_FALSE(lines.empty());
  const nlohmann::json& stored = lines.front()["machine"]["nodes"];
  ASSERT_EQ(stored.size(), 2u) << lines.front()["machine"];
  EXPECT_EQ(stored[1]["ranks"], nlohmann::json({1}));
  EXPECT_TRUE(stored[1]["machine"].contains("cores"));
  const nlohmann::json& health = lines.front()["provenance"]["case"]["context"]["health"];
  EXPECT_TRUE(health.contains("readings")) << health;
  EXPECT_TRUE(health["nodes"][stored[1]["name"]].contains("readings")) << health;
}

// The reverse: somebody else starts the ranks, and the host waits for them.
TEST_F(LaunchTest, TheHostWaitsForRanksThatOthersStart) {
  write_experiment("  - {culprit: 0, world_size: 2}\n");
  folder_.write("both.sh",
                "export ASSAY_TOKEN=secret ASSAY_CONTROL=127.0.0.1:$1\n"
                "shift\n"
                "for rank in 0 1; do\n"
                "  RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank \"$1\" worker &\n"
                "done\n"
                "\"$@\" --launcher wait --control $ASSAY_CONTROL; ended=$?\n"
                "wait; exit $ended\n");
  const std::string port = std::to_string(20000 + ::getpid() % 10000);
  const Ended ended = run({}, {"sh", "both.sh", port});
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("ASSAY_CONTROL=127.0.0.1:" + port));
  EXPECT_THAT(ended.errors, Not(HasSubstr("secret")));
}

TEST_F(LaunchTest, OutsideAnAllocationSlurmWritesItsScript) {
  write_experiment("  - {culprit: 0, world_size: 4, nodes: 2}\n");
  const Ended refused = run({"--launcher", "slurm"}, {"env", "-u", "SLURM_JOB_ID"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.errors, HasSubstr("--write-script"));
  const Ended ended = run({"--launcher", "slurm", "--write-script", "job.sbatch"});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  const std::string script = folder_.read("job.sbatch");
  EXPECT_THAT(script, HasSubstr("#SBATCH --nodes=2\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --ntasks-per-node=2\n"));
  EXPECT_THAT(script, HasSubstr("run ranks.yaml"));
  EXPECT_THAT(script, HasSubstr("--launcher slurm"));
  EXPECT_THAT(script, Not(HasSubstr("--write-script")));
}

}  // namespace
}  // namespace assay::test
