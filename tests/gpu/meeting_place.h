#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "worker/process/process_group.h"

namespace assay::test {

// A placement of so many ranks whose rendezvous is bound to a free port of this machine, on which
// rank 0 listens.
inline worker::Placement meeting_place(int ranks) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int bound = ::socket(AF_INET, SOCK_STREAM, 0);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(bound, generic, size) != 0 || ::getsockname(bound, generic, &size) != 0) {
    ::close(bound);
    throw std::runtime_error("no port is free");
  }
  worker::Placement placement;
  placement.world_size = ranks;
  placement.rendezvous_port = ntohs(address.sin_port);
  placement.rendezvous_socket = bound;
  return placement;
}

}  // namespace assay::test
