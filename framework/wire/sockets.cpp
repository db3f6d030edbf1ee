#include "wire/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace assay::wire {

namespace {

Result<sockaddr_in> resolved(const std::string& host, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1) return address;
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int problem = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); problem != 0) {
    return fail(ExitCode::bad_input,
                fmt::format("'{}' is not an address of a host: {}", host, ::gai_strerror(problem)),
                "give an IPv4 address, such as 10.0.0.1, or a name that this machine knows");
  }
  address.sin_addr = reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr;
  ::freeaddrinfo(found);
  return address;
}

// Sets errno where it does not connect in time.
bool connects(int socket, const sockaddr_in& remote, std::chrono::milliseconds wait) {
  ::fcntl(socket, F_SETFL, O_NONBLOCK);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&remote), sizeof remote) != 0) {
    if (errno != EINPROGRESS) return false;
    pollfd ready = {socket, POLLOUT, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(wait.count()));
    int problem = count == 0 ? ETIMEDOUT : 0;
    socklen_t size = sizeof problem;
    if (count > 0) ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &problem, &size);
    errno = problem;
    if (problem != 0 || count < 0) return false;
  }
  ::fcntl(socket, F_SETFL, 0);
  return true;
}

}  // namespace

tl::unexpected<Error> system_failure(const std::string& what) {
  return fail(ExitCode::machine_lacks, fmt::format("{}: {}", what, std::strerror(errno)));
}

Result<Descriptor> connected_socket(const std::string& address, std::chrono::milliseconds wait) {
  const std::size_t colon = address.rfind(':');
  int port = 0;
  const char* end = address.data() + address.size();
  if (colon == std::string::npos ||
      std::from_chars(address.data() + colon + 1, end, port).ptr != end || port < 1 ||
      port > 65535) {
    return fail(ExitCode::bad_input, fmt::format("'{}' is not an address of a host", address),
                "an address is written 127.0.0.1:4000");
  }
  const auto remote = resolved(address.substr(0, colon), port);
  if (!remote) return tl::unexpected(remote.error());
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.open()) return system_failure("cannot make a socket");
  if (!connects(socket.number(), *remote, wait)) {
    return system_failure("cannot reach the host at " + address);
  }
  return socket;
}

Result<BoundPort> bind_port(const std::string& host, int port) {
  auto address = resolved(host, port);
  if (!address) return tl::unexpected(address.error());
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.open()) return system_failure("cannot make a socket");
  // A port that was asked for may still wait for the connections of an earlier run to fade.
  const int on = port != 0 ? 1 : 0;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t size = sizeof *address;
  if (::bind(socket.number(), reinterpret_cast<sockaddr*>(&*address), size) != 0 ||
      ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&*address), &size) != 0) {
    return system_failure(port == 0 ? fmt::format("cannot bind a port at {}", host)
                                    : fmt::format("cannot bind port {} at {}", port, host));
  }
  return BoundPort{std::move(socket), static_cast<int>(ntohs(address->sin_port))};
}

std::vector<std::string> own_hosts() {
  std::vector<std::string> hosts;
  std::vector<std::string> loopback;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {"127.0.0.1"};
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0) continue;
    char text[INET_ADDRSTRLEN] = {};
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : hosts).emplace_back(text);
  }
  ::freeifaddrs(all);
  hosts.insert(hosts.end(), loopback.begin(), loopback.end());
  return hosts;
}

}  // namespace assay::wire
