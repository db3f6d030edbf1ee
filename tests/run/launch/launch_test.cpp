// The pieces of launching that need no engine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"
#include "run/launch/job.h"
#include "run/launch/nodes.h"
#include "run/node/base64.h"
#include "run/node/engine.h"
#include "run/process/temporary_folder.h"

namespace assay::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Variables variables(std::map<std::string, std::string> of) {
  return [of = std::move(of)](const char* name) {
    const auto found = of.find(name);
    return found == of.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(EngineTest, EachEngineIsFoundByItsVariables) {
  const auto torchrun = place_by_engine(variables({{"RANK", "3"},
                                                   {"WORLD_SIZE", "4"},
                                                   {"LOCAL_RANK", "1"},
                                                   {"MASTER_ADDR", "n1"},
                                                   {"MASTER_PORT", "29500"},
                                                   {"TORCHELASTIC_RUN_ID", "none"},
                                                   {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                   {"SLURM_PROCID", "0"}}));
  ASSERT_TRUE(torchrun);
  EXPECT_EQ(torchrun->engine, "torchrun");
  EXPECT_EQ(torchrun->rank, 3);
  EXPECT_EQ(torchrun->size, 4);
  EXPECT_EQ(torchrun->local_rank, 1);
  EXPECT_EQ(torchrun->master_host, "n1");
  EXPECT_EQ(torchrun->master_port, 0) << "torchrun listens on its port itself";

  // mpirun within an allocation of Slurm: the batch step's variables are there as well.
  const auto mpi = place_by_engine(variables({{"OMPI_COMM_WORLD_RANK", "1"},
                                              {"OMPI_COMM_WORLD_SIZE", "2"},
                                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                              {"SLURM_PROCID", "0"},
                                              {"SLURM_NTASKS", "1"}}));
  ASSERT_TRUE(mpi);
  EXPECT_EQ(mpi->engine, "Open MPI");
  EXPECT_EQ(mpi->rank, 1);
  EXPECT_EQ(mpi->size, 2);

  const auto slurm = place_by_engine(variables({{"SLURM_PROCID", "1"},
                                                {"SLURM_NTASKS", "2"},
                                                {"SLURM_LOCALID", "0"},
                                                {"SLURMD_NODENAME", "n2"},
                                                {"MASTER_PORT", "4001"}}));
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->engine, "Slurm");
  EXPECT_EQ(slurm->local_rank, 0);
  EXPECT_EQ(slurm->node, "n2");
  EXPECT_EQ(slurm->master_port, 4001);
}

TEST(EngineTest, WhatIsMissingOrWrongIsNamed) {
  const auto refused = [](std::map<std::string, std::string> of) {
    const auto place = place_by_engine(variables(std::move(of)));
    return place ? std::string("accepted") : place.error().text();
  };
  EXPECT_THAT(refused({}), HasSubstr("SLURM_PROCID"));
  EXPECT_THAT(refused({{"RANK", "0"}}), HasSubstr("RANK is set, but WORLD_SIZE is not"));
  EXPECT_THAT(refused({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK is 2"));
  EXPECT_THAT(refused({{"PMI_RANK", "one"}, {"PMI_SIZE", "2"}}), HasSubstr("PMI_RANK: 'one'"));
}

wire::Join rank_on(const std::string& node, const std::string& boot_id, const std::string& network,
                   std::vector<std::string> gpus = {}) {
  wire::Join place;
  place.node = node;
  place.boot_id = boot_id;
  place.network = network;
  place.gpus = std::move(gpus);
  return place;
}

TEST(NodesTest, AHostIsToldByItsBootIdAndNetwork) {
  const auto nodes = nodes_of(
      {rank_on("a", "A", "net"), rank_on("b", "B", "net"), rank_on("a", "A", "net")}, {2, false});
  ASSERT_TRUE(nodes) << nodes.error().text();
  ASSERT_EQ(nodes->all.size(), 2u);
  EXPECT_THAT(nodes->all[0].ranks, ElementsAre(0, 2));
  EXPECT_THAT(nodes->all[1].ranks, ElementsAre(1));
  EXPECT_EQ(nodes->simulated, "");
}

TEST(NodesTest, TwoNodesThatAreOneAreAnErrorUnlessDeclared) {
  const std::vector<wire::Join> places = {rank_on("n1", "A", "net"), rank_on("n2", "A", "net")};
  const auto refused = nodes_of(places, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("2 nodes (n1, n2) are 1 machine"));
  EXPECT_THAT(refused.error().text(), HasSubstr("--simulate-nodes"));
  EXPECT_FALSE(nodes_of({rank_on("a", "A", "net"), rank_on("a", "A", "net")}, {2, false}));

  const auto declared = nodes_of(places, {0, true});
  ASSERT_TRUE(declared);
  EXPECT_EQ(declared->all.size(), 2u);
  EXPECT_THAT(declared->simulated, HasSubstr("n1, n2 are parts of 1 machine"));

  const auto split = nodes_of({rank_on("a", "A", "net"), rank_on("a", "A", "net"),
                               rank_on("a", "A", "net"), rank_on("a", "A", "net")},
                              {2, true});
  ASSERT_TRUE(split);
  ASSERT_EQ(split->all.size(), 2u);
  EXPECT_THAT(split->all[1].ranks, ElementsAre(2, 3));
  EXPECT_NE(split->all[0].name, split->all[1].name);
}

TEST(NodesTest, NetworkNamespacesOfOneMachineAreNodesThatAreMarked) {
  const auto nodes = nodes_of({rank_on("a", "A", "net1"), rank_on("a", "A", "net2")}, {2, false});
  ASSERT_TRUE(nodes) << nodes.error().text();
  EXPECT_EQ(nodes->all.size(), 2u);
  EXPECT_NE(nodes->simulated, "");
}

TEST(NodesTest, RanksSitNodeByNode) {
  const std::vector<wire::Join> places = {rank_on("a", "A", "n"), rank_on("b", "B", "n"),
                                          rank_on("a", "A", "n"), rank_on("b", "B", "n")};
  const auto nodes = nodes_of(places, {});
  ASSERT_TRUE(nodes);
  const Seats seats = seats_for(places, *nodes, 4, 2, false);
  ASSERT_EQ(seats.all.size(), 4u) << seats.impossible;
  EXPECT_EQ(seats.all[1].rank, 2u);
  EXPECT_EQ(seats.all[1].local_rank, 1);
  EXPECT_EQ(seats.all[2].rank, 1u);
  EXPECT_EQ(seats.all[2].node, 1u);
  EXPECT_EQ(seats.all[2].local_rank, 0);
  EXPECT_EQ(seats_for(places, *nodes, 2, 1, false).all[1].rank, 2u);
  EXPECT_THAT(seats_for(places, *nodes, 3, 2, false).impossible, HasSubstr("evenly"));
  EXPECT_THAT(seats_for(places, *nodes, 8, 2, false).impossible,
              HasSubstr("needs 4 ranks on each; the launch has 2 nodes with 2, 2"));
}

TEST(NodesTest, EachRankHasAGpuOfItsOwn) {
  // Of all ranks that see both, and of those to which the engine shows one each.
  for (const bool bound : {false, true}) {
    const std::vector<std::string> first =
        bound ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "y"};
    const std::vector<std::string> second = bound ? std::vector<std::string>{"y"} : first;
    const std::vector<wire::Join> places = {rank_on("a", "A", "n", first),
                                            rank_on("a", "A", "n", second)};
    const auto nodes = nodes_of(places, {});
    ASSERT_TRUE(nodes);
    const Seats seats = seats_for(places, *nodes, 2, 1, true);
    ASSERT_EQ(seats.all.size(), 2u) << seats.impossible;
    EXPECT_EQ(seats.all[0].device, 0);
    EXPECT_EQ(seats.all[1].device, bound ? 0 : 1);
  }
  const std::vector<wire::Join> places = {rank_on("a", "A", "n", {"x"}),
                                          rank_on("a", "A", "n", {"x"})};
  const auto nodes = nodes_of(places, {});
  EXPECT_THAT(seats_for(places, *nodes, 2, 1, true).impossible, HasSubstr("a GPU each"));
}

TEST(NodesTest, NodesWithGpusNeedMachinesOfTheirOwn) {
  const std::vector<wire::Join> places = {rank_on("n1", "A", "1", {"x", "y"}),
                                          rank_on("n2", "A", "2", {"x", "y"})};
  const auto nodes = nodes_of(places, {});
  ASSERT_TRUE(nodes);
  EXPECT_THAT(seats_for(places, *nodes, 2, 2, true).impossible, HasSubstr("n1 and n2 are one"));
  EXPECT_EQ(seats_for(places, *nodes, 2, 2, false).impossible, "");
}

TEST(LauncherTest, ACommandsGroupsNeedTheirValues) {
  const Launcher launcher = {
      .command = {{"mpirun"}, {"--host", "{hosts}"}, {"-np", "{ranks}"}, {"--image={IMAGE}"}}};
  const auto command =
      command_of(launcher, {{"hosts", ""}, {"ranks", "4"}}, variables({{"IMAGE", "a b"}}));
  ASSERT_TRUE(command);
  EXPECT_THAT(*command, ElementsAre("mpirun", "-np", "4", "--image=a b"));
  const auto lacks = command_of(launcher, {{"hosts", "x"}, {"ranks", "4"}}, variables({}));
  ASSERT_FALSE(lacks);
  EXPECT_THAT(lacks.error().text(), HasSubstr("environment variable IMAGE"));
  EXPECT_FALSE(filled_in("{rnks}", {{"ranks", "4"}}, variables({})));
  EXPECT_EQ(*filled_in("echo ${HOME} {ranks}", {{"ranks", "4"}}, variables({})), "echo ${HOME} 4");
}

TEST(LauncherTest, WordsForAShellElsewhereArriveWhole) {
  const Launcher launcher = {.command = {{"printf", "%s|"}, {"{host}"}},
                             .remote = {{"printf", "%s|"},
                                        {"--left-out", "{hosts}"},
                                        {"{assay}", "it's", "a \"b\" $HOME;", "RANK={rank}"}}};
  const auto command = command_of(
      launcher, {{"host", "n1"}, {"hosts", ""}, {"rank", "3"}, {"assay", "/my tools/assay"}},
      variables({}));
  ASSERT_TRUE(command) << command.error().text();
  ASSERT_EQ(command->size(), 4u);
  EXPECT_EQ((*command)[2], "n1");
  const auto printed = capture({.arguments = {"sh", "-c", command->back()}});
  ASSERT_TRUE(printed && printed->ok());
  EXPECT_EQ(printed->output, "/my tools/assay|it's|a \"b\" $HOME;|RANK=3|");
}

TEST(LauncherTest, SshFindsTheProgramWhateverItsFolderIsCalled) {
  const auto launcher = read_launcher(ASSAY_SOURCE_DIR "/configs", "ssh");
  ASSERT_TRUE(launcher) << launcher.error().text();
  const TemporaryFolder folder("it's $HOME \"or\" not");
  const std::filesystem::path assay = folder.path() / "assay";
  std::ofstream(assay) << "#!/bin/sh\necho $RANK of $WORLD_SIZE: \"$@\"\n";
  std::filesystem::permissions(assay, std::filesystem::perms::owner_all);
  const auto command = command_of(
      *launcher,
      {{"host", "n1"}, {"rank", "1"}, {"ranks", "2"}, {"local_rank", "0"}, {"assay", assay}},
      variables({}));
  ASSERT_TRUE(command) << command.error().text();
  // What sshd does with its words.
  const auto shell = capture({.arguments = {"sh", "-c", command->back()}});
  ASSERT_TRUE(shell);
  EXPECT_EQ(shell->output, "1 of 2: worker --stdin\n") << shell->errors;
}

TEST(LauncherTest, SrunBindsNoCoresAndAsksForGpusWhereTold) {
  for (const char* name : {"slurm", "srun_container"}) {
    LaunchRequest request;
    request.launcher = std::move(*read_launcher(ASSAY_SOURCE_DIR "/configs", name));
    const auto words = [&] {
      auto names = names_of(request, {2, 8});
      names.insert({{"assay", "assay"}, {"assay_prefix", "/opt"}});
      const auto command =
          command_of(request.launcher, names, variables({{"ASSAY_IMAGE", "image"}}));
      return command ? join(*command, " ") : command.error().text();
    };
    EXPECT_THAT(words(), HasSubstr(" --cpu-bind=none "));
    EXPECT_THAT(words(), Not(HasSubstr("gpus")));
    request.gpus_per_node = 8;
    EXPECT_THAT(words(), HasSubstr(" --gpus-per-node 8 "));
  }
}

TEST(LauncherTest, ABatchScriptHasNoLineForWhatIsNotAskedFor) {
  LaunchRequest request;
  request.launcher = std::move(*read_launcher(ASSAY_SOURCE_DIR "/configs", "slurm"));
  const auto without = batch_script(request, {2, 8}, "assay run");
  ASSERT_TRUE(without) << without.error().text();
  EXPECT_THAT(*without, Not(HasSubstr("gpus")));
  EXPECT_THAT(*without, ::testing::EndsWith("--ntasks-per-node=8\nassay run\n"));
  request.gpus_per_node = 4;
  EXPECT_THAT(*batch_script(request, {2, 8}, "assay run"),
              HasSubstr("\n#SBATCH --gpus-per-node=4\nassay run\n"));
}

TEST(LauncherTest, EveryNodeNeedsAHostOfItsOwnWhereTheLauncherNamesIt) {
  LaunchRequest request;
  request.launcher = std::move(*read_launcher(ASSAY_SOURCE_DIR "/configs", "ssh"));
  const auto refused = [&] {
    const auto fits = check_request(request, {2, 1});
    return fits ? std::string() : fits.error().text();
  };
  EXPECT_THAT(refused(), HasSubstr("2 nodes and --hosts names none"));
  request.hosts = {"a"};
  EXPECT_THAT(refused(), HasSubstr("2 nodes and --hosts names 1"));
  request.hosts = {"a", "b"};
  EXPECT_EQ(refused(), "");
  request.gpus_per_node = 1;
  EXPECT_THAT(refused(), HasSubstr("cannot ask for GPUs"));
}

TEST(LauncherTest, EveryPresetOfThisTreeReads) {
  const std::filesystem::path configs = ASSAY_SOURCE_DIR "/configs";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(configs / "launchers")) {
    const auto launcher = read_launcher(configs, entry.path().stem());
    ASSERT_TRUE(launcher) << launcher.error().text();
    EXPECT_NE(launcher->description, "");
    ++count;
  }
  EXPECT_GE(count, 6);
}

TEST(LauncherTest, AnUnknownKeyIsRefusedWithItsPlace) {
  const auto file = std::filesystem::temp_directory_path() / "assay-launcher-test.yaml";
  std::ofstream(file) << "description: x\ncomand: [a]\n";
  const auto launcher = read_launcher(ASSAY_SOURCE_DIR "/configs", file);
  std::filesystem::remove(file);
  ASSERT_FALSE(launcher);
  EXPECT_THAT(launcher.error().text(), HasSubstr(":2:1: a launcher has no key 'comand'; did you"));
}

TEST(LaunchSizeTest, FollowsTheOptionsThenTheAllocationThenTheCases) {
  LaunchRequest request;
  request.launcher.nodes = "NODES";
  request.launcher.ranks = "TASKS";
  const auto allocation = variables({{"NODES", "2"}, {"TASKS", "4"}});
  const auto size = [&](const LaunchSize& needed, const Variables& there) {
    const auto found = size_of(request, needed, there);
    return found ? std::pair(found->nodes, found->ranks_per_node) : std::pair(-1, -1);
  };
  EXPECT_EQ(size({3, 8}, variables({})), std::pair(3, 8));
  EXPECT_EQ(size({3, 8}, allocation), std::pair(2, 2));
  EXPECT_EQ(size({1, 1}, allocation), std::pair(1, 1));
  request.nodes = 2;
  request.ranks_per_node = 5;
  EXPECT_EQ(size({1, 1}, allocation), std::pair(2, 5));
  EXPECT_EQ(size({1, 1}, variables({{"NODES", "two"}})), std::pair(-1, -1));
}

TEST(Base64Test, BytesComeBack) {
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");  // RFC 4648
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_base64(to_base64(all)), all);
  EXPECT_EQ(from_base64("Zm9v YmE="), std::nullopt);
}

}  // namespace
}  // namespace assay::run
