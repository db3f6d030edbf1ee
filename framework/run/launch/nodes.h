#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/agent_messages.h"

namespace assay::run {

// A node of a launch: a machine with a network of its own, or what was declared to stand for one.
struct LaunchNode {
  std::string name;
  std::string boot_id;
  std::vector<std::size_t> ranks;  // of the launch, ascending
};

struct LaunchNodes {
  std::vector<LaunchNode> all;  // in the order of their lowest ranks
  std::string simulated;        // why they do not stand for machines; "" where they do
};

// What was asked of a launch.
struct AskedNodes {
  int nodes = 0;          // 0: as many as there are
  bool simulate = false;  // one machine may stand for several
};

// Tells the nodes of a launch apart, by boot id and network namespace; places are in the order of
// their ranks. ExitCode::machine_lacks where nodes that were asked for, or that the engine tells
// apart, are one.
Result<LaunchNodes> nodes_of(const std::vector<wire::Join>& places, const AskedNodes& asked);

// A rank of a case on a rank of the launch.
struct Seat {
  std::size_t rank = 0;  // of the launch
  std::size_t node = 0;
  int local_rank = 0;   // within its node
  int local_ranks = 1;  // of the case on the node
  int device = 0;       // a GPU as the rank sees them, different for each; where on CUDA

  bool operator==(const Seat&) const = default;
};

struct Seats {
  std::vector<Seat> all;   // in the order of the case's ranks: node by node
  std::string impossible;  // why there are none, for people
};

// Seats for a case's ranks, spread evenly over its nodes.
Seats seats_for(const std::vector<wire::Join>& places, const LaunchNodes& nodes, int world_size,
                int case_nodes, bool on_cuda);

}  // namespace assay::run
