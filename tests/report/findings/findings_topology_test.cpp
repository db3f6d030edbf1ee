#include <gmock/gmock.h>

#include "rendering.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::markdown_of;
using testing_support::run_of;

std::string topology_of(const std::string& machine) {
  store::Run run = run_of("size,pass,time.value [ms]\n1,all_reduce,2\n2,all_reduce,3\n");
  run.info.first.machine = nlohmann::json::parse(machine);
  return markdown_of({&run}, "- findings: [topology]");
}

TEST(TopologyFindings, SayWhatLiesBetweenTheGpusAndWhereTheyAre) {
  EXPECT_THAT(
      topology_of(R"({"host": "lab1", "topology": {"cores": "0-3,8",
          "gpus": [{"nvlinks": 18, "numa": 0, "cores": "0-7", "ways": ["", "NVLink", "SYS"]},
                   {"nvlinks": 18, "numa": 1, "cores": "8-15", "ways": ["NVLink", "", "PIX"]},
                   {"nvlinks": 0, "numa": 1, "cores": "8-15", "ways": ["SYS", "PIX", ""]}],
          "numa": {"0": "0-7", "1": "8-15", "2": ""}}})"),
      HasSubstr(
          "**Topology of lab1**: GPUs 0 and 1 are joined by NVLink (18 links each); GPUs 1 "
          "and 2 are joined by one PCIe switch; GPUs 0 and 2 are joined by the link between "
          "NUMA nodes; near GPU 0: NUMA node 0, cores 0-7; near GPUs 1, 2: NUMA node 1, cores "
          "8-15; ranks may use cores 0-3,8 of NUMA nodes 0, 1, and are bound to none of "
          "them."));
}

TEST(TopologyFindings, OfAMachineWithoutGpusAreItsCores) {
  EXPECT_THAT(
      topology_of(R"({"host": "here", "topology": {"cores": "0-1", "gpus": [],
                              "numa": {"0": "0-1"}}})"),
      HasSubstr("**Topology of here**: ranks may use cores 0-1 of NUMA node 0, and are bound "
                "to none of them."));
}

// An engine may have bound its ranks, and the host's own machine may have none of them.
TEST(TopologyFindings, OfARunOverNodesAreThoseOfEach) {
  const std::string text = topology_of(
      R"({"host": "login", "engine": "slurm", "topology": {"cores": "0-1", "gpus": []},
          "nodes": [{"name": "a", "machine": {"topology": {"cores": "0-3", "gpus": []}}},
                    {"name": "b", "machine": {"topology": {"cores": "4-7", "gpus": []}}}]})");
  EXPECT_THAT(text, HasSubstr("**Topology of a**: the cores that were seen there are 0-3."));
  EXPECT_THAT(text, HasSubstr("**Topology of b**: the cores that were seen there are 4-7."));
  EXPECT_THAT(text, Not(HasSubstr("login")));
}

// Such as a run of an earlier version.
TEST(TopologyFindings, AreNoneWhereTheRunKnowsNothing) {
  EXPECT_THAT(topology_of(R"({"host": "lab1", "cores": 2})"),
              HasSubstr("The results support none of the requested findings."));
}

}  // namespace
}  // namespace assay::report
