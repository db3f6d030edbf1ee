#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/launch/launcher.h"

namespace assay::run {

inline constexpr int most_ranks = 4096;  // as many as a case may have

// What a user asks of a launch.
struct LaunchRequest {
  Launcher launcher;
  int nodes = 0;                   // 0: as many as the cases need, or the allocation has
  int ranks_per_node = 0;          // the same
  int gpus_per_node = 0;           // to ask the engine for; 0: none
  std::vector<std::string> hosts;  // for {host}: one a node
  std::string control;             // "address[:port]" of this host; "": all its addresses
  bool simulate_nodes = false;
};

// How many ranks a launch has on how many nodes.
struct LaunchSize {
  int nodes = 1;
  int ranks_per_node = 1;
  int ranks() const { return nodes * ranks_per_node; }
};

// The size for cases that need `needed`: what was asked for, or the allocation has, else what they
// need. Errors: a variable of the allocation is no number.
Result<LaunchSize> size_of(const LaunchRequest& request, const LaunchSize& needed,
                           const Variables& variables);

// ExitCode::bad_input where the launcher names each node's host and not every node has one, or
// where it cannot ask for the GPUs.
Result<void> check_request(const LaunchRequest& request, const LaunchSize& size);

// The batch script that runs `command`, from the launcher's template: lines with an empty
// placeholder are left out, values of environment variables are quoted. Errors: it has none.
Result<std::string> batch_script(const LaunchRequest& request, const LaunchSize& size,
                                 const std::string& command);

// The launcher's placeholders that follow from these.
std::map<std::string, std::string> names_of(const LaunchRequest& request, const LaunchSize& size);

}  // namespace assay::run
