// Ranks that launch engines start: the main line over Open MPI, Slurm and by hand.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "support/exported.h"
#include "support/program.h"
#include "support/two_nodes.h"

namespace assay::test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// PATH, and behind it the folder of the Python that has torch: its torchrun may be the only one.
std::string folders_of_programs() {
  const char* path = std::getenv("PATH");
  const char* python = std::getenv("ASSAY_PYTHON");
  std::string folders = path == nullptr ? "" : path;
  if (python != nullptr) folders += ":" + std::filesystem::path(python).parent_path().string();
  return folders;
}

bool has_program(const std::string& name) {
  for (const std::string& folder : split(folders_of_programs(), ':')) {
    if (std::filesystem::exists(std::filesystem::path(folder) / name)) return true;
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
  void write_program(const std::string& name, const std::string& script) const {
    std::filesystem::permissions(folder_.write(name, "#!/bin/sh\n" + script),
                                 std::filesystem::perms::owner_all);
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

// Two nodes that are one machine: Slurm calls them n1 and n2. In one allocation, as a cluster takes
// a while to come up: undeclared, declared, by a batch file, and the reverse.
TEST_F(LaunchTest, FourRanksOnTwoNodesOfSlurm) {
  write_experiment("  - {culprit: 0, world_size: 2}\n  - {culprit: 1, world_size: 4, nodes: 2}\n");
  folder_.write("all.sh",
                "\"$@\" --launcher slurm >refused 2>&1; echo $? >>refused\n"
                "\"$@\" --launcher slurm --simulate-nodes >declared 2>&1; echo $? >>declared\n"
                "\"$@\" --launcher slurm --simulate-nodes --write-script job.sbatch &&\n"
                "  sbatch --quiet --wait --output=batch job.sbatch; echo $? >>batch\n"
                "export ASSAY_TOKEN=secret ASSAY_CONTROL=127.0.0.1:$((20000 + $$ % 10000))\n"
                "srun --nodes=1 --ntasks=2 \"$1\" worker &\n"
                "\"$@\" --launcher wait --control $ASSAY_CONTROL >waited 2>&1\n"
                "echo $? >>waited; wait\n");
  const Ended all = run({}, {"sh", ASSAY_SOURCE_DIR "/tests/end_to_end/support/slurm_cluster.sh",
                             (folder_.path() / "cluster").string(), "sh", "all.sh"});
  constexpr int cannot = 77;
  if (all.exit_code == cannot) GTEST_SKIP() << all.output << all.errors;
  const std::string refused = folder_.read("refused");
  EXPECT_THAT(refused, AllOf(HasSubstr("2 nodes (n1, n2) are 1 machine"), EndsWith("\n3\n")));
  for (const char* way : {"declared", "batch"}) {
    const std::string output = folder_.read(way);
    EXPECT_THAT(output, HasSubstr("outcomes: 2 ok")) << way << all.errors;
    EXPECT_THAT(output, HasSubstr("† simulated nodes (")) << way;
    EXPECT_THAT(output, EndsWith("\n0\n")) << way;
  }
  EXPECT_THAT(folder_.read("waited"), HasSubstr("outcomes: 1 ok, 1 skipped")) << all.errors;
}

// What stands in for ssh and for an srun with containers runs their commands here.
TEST_F(LaunchTest, PresetsForOtherMachinesSayWhatTheirProgramsExpect) {
  write_experiment("  - {culprit: 0, world_size: 2}\n");
  write_program("ssh",
                "[ \"$1 $2 $3\" = '-o BatchMode=yes node-a' ] || exit 9\n"
                "shift 3\n"
                "exec sh -c \"$*\"\n");  // as sshd does
  const std::vector<std::string> with_these = {
      "env", fmt::format("PATH={}:{}", folder_.path().string(), std::getenv("PATH"))};
  const Ended by_ssh =
      run({"--launcher", "ssh", "--hosts", "node-a", "--ranks-per-node", "2"}, with_these);
  EXPECT_EQ(by_ssh.exit_code, 0) << by_ssh.output << by_ssh.errors;

  write_program("srun",
                "echo \"$*\" >srun_words\n"
                "while case $1 in -*) true;; *) false;; esac; do shift; done\n"
                "for SLURM_PROCID in 0 1; do\n"
                "  export SLURM_PROCID SLURM_LOCALID=$SLURM_PROCID SLURMD_NODENAME=n1\n"
                "  \"$@\" &\n"
                "done\n"
                "wait\n");
  std::vector<std::string> allocation = with_these;
  allocation.insert(allocation.end(), {"SLURM_JOB_ID=1", "SLURM_JOB_NUM_NODES=1", "SLURM_NTASKS=2",
                                       "ASSAY_IMAGE=registry/image:1"});
  const Ended by_srun = run({"--launcher", "srun_container"}, allocation);
  EXPECT_EQ(by_srun.exit_code, 0) << by_srun.output << by_srun.errors;
  EXPECT_THAT(folder_.read("srun_words"),
              AllOf(HasSubstr("--nodes=1 --ntasks=2 --ntasks-per-node=2"),
                    HasSubstr("--container-image=registry/image:1 "
                              "--container-mounts=" ASSAY_BUILD_DIR ":" ASSAY_BUILD_DIR)));
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
  EXPECT_TRUE(stored[1]["machine"]["topology"].contains("numa"));
  const nlohmann::json& health = lines.front()["provenance"]["case"]["context"]["health"];
  EXPECT_TRUE(health.contains("readings")) << health;
  EXPECT_TRUE(health["nodes"][stored[1]["name"]].contains("readings")) << health;
}

// The reverse: somebody else starts the ranks, and the host waits for them.
struct Starter {
  const char* name;
  const char* program;  // that it needs; "" for none
  const char* words;    // ahead of `assay worker`
};

class ReverseTest : public LaunchTest, public ::testing::WithParamInterface<Starter> {};

TEST_P(ReverseTest, TheHostWaitsForRanksThatOthersStart) {
  const Starter starter = GetParam();
  if (*starter.program != '\0' && !has_program(starter.program)) {
    GTEST_SKIP() << starter.program << " is not installed";
  }
  write_experiment("  - {culprit: 0, world_size: 2}\n");
  folder_.write("by_hand.sh",
                "for rank in 0 1; do\n"
                "  RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank \"$@\" &\n"
                "done\n"
                "wait\n");
  folder_.write("both.sh", "export ASSAY_TOKEN=secret ASSAY_CONTROL=127.0.0.1:$1 PATH=\"" +
                               folders_of_programs() +
                               "\"\n"
                               "shift\n" +
                               std::string(starter.words) +
                               " \"$1\" worker &\n"
                               "\"$@\" --launcher wait --control $ASSAY_CONTROL; ended=$?\n"
                               "wait; exit $ended\n");
  const std::string port = std::to_string(20000 + ::getpid() % 10000);
  const Ended ended = run({}, {"sh", "both.sh", port});
  EXPECT_EQ(ended.exit_code, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("outcomes: 1 ok"));
  EXPECT_THAT(ended.errors, HasSubstr("ASSAY_CONTROL=127.0.0.1:" + port));
  EXPECT_THAT(ended.errors, Not(HasSubstr("secret")));
  EXPECT_EQ(exported(folder_.path()).front()["machine"]["engine"], starter.name);
}

INSTANTIATE_TEST_SUITE_P(
    By, ReverseTest,
    ::testing::Values(Starter{"RANK", "", "sh by_hand.sh"},
                      Starter{"Open MPI", "mpirun",
                              "mpirun --allow-run-as-root --oversubscribe -np 2 --bind-to none"},
                      Starter{"torchrun", "torchrun", "torchrun --nproc_per_node 2 --no_python"}),
    [](const auto& tested) {
      const std::string program = tested.param.program;
      return program.empty() ? "hand" : program;
    });

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
