#include "worker/process/process_group.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace assay::worker {
namespace {

// Rank 0 listens on a free port of this machine.
Placement four_ranks() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  Placement placement;
  placement.world_size = 4;
  placement.rendezvous_socket = ::socket(AF_INET, SOCK_STREAM, 0);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(*placement.rendezvous_socket, generic, size) != 0 ||
      ::getsockname(*placement.rendezvous_socket, generic, &size) != 0) {
    throw std::runtime_error("no port is free");
  }
  placement.rendezvous_port = ntohs(address.sin_port);
  return placement;
}

double sum_of(const Group& group, double value) {
  std::vector<at::Tensor> values = {at::full({1}, value, at::TensorOptions(at::kDouble))};
  group.backend->allreduce(values)->wait();
  return values[0].item<double>();
}

// Ranks 0 to 3 as data × shard = 2 × 2: 0 and 1 share a data row, 0 and 2 a shard column.
TEST(ProcessGroups, AMeshHasAGroupForEachAxis) {
  Placement placement = four_ranks();
  placement.axes = {{"data", 2}, {"shard", 2}};
  std::vector<std::vector<double>> sums(4);
  std::vector<std::string> names;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 4; ++rank) {
      threads.emplace_back([&, rank] {
        Placement own = placement;
        own.rank = rank;
        if (rank != 0) own.rendezvous_socket.reset();
        ProcessGroups groups(own);
        const Mesh mesh = groups.mesh("gloo", at::kCPU);
        if (rank == 0) names = mesh.names();
        for (const char* name : {"world", "data", "shard", "data"}) {
          const Group group = mesh.group(name);
          sums[static_cast<std::size_t>(rank)].push_back(sum_of(group, 1 << rank));
          sums[static_cast<std::size_t>(rank)].push_back(group.rank);
        }
      });
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"world", "data", "shard"}));
  EXPECT_EQ(sums[0], (std::vector<double>{15, 0, 5, 0, 3, 0, 5, 0}));
  EXPECT_EQ(sums[1], (std::vector<double>{15, 1, 10, 0, 3, 1, 10, 0}));
  EXPECT_EQ(sums[2], (std::vector<double>{15, 2, 5, 1, 12, 0, 5, 1}));
  EXPECT_EQ(sums[3], (std::vector<double>{15, 3, 10, 1, 12, 1, 10, 1}));
}

TEST(ProcessGroups, AMeshFitsItsRanks) {
  Placement placement;
  placement.world_size = 4;
  placement.axes = {{"data", 2}, {"shard", 3}};
  ProcessGroups groups(placement);
  EXPECT_THROW(groups.mesh("gloo", at::kCPU), std::invalid_argument);
  placement.axes = {{"data", 2}, {"data", 2}};
  ProcessGroups twice(placement);
  EXPECT_THROW(twice.mesh("gloo", at::kCPU), std::invalid_argument);
}

TEST(ProcessGroups, OneRankIsAWorldOfItsOwn) {
  ProcessGroups groups({});
  const Mesh mesh = groups.mesh("none", at::kCPU);
  EXPECT_EQ(mesh.names(), std::vector<std::string>{"world"});
  EXPECT_EQ(mesh.world().size, 1);
}

}  // namespace
}  // namespace assay::worker
