#pragma once

#include <string>

namespace assay::run {

// What tells this machine and its network from others.
struct NodeIdentity {
  std::string boot_id;  // of the kernel, new with each start
  std::string network;  // of the network namespace, "net:[4026531840]"
};
NodeIdentity this_node();

}  // namespace assay::run
