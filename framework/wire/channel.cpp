#include "wire/channel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/json.h"

namespace assay::wire {

namespace {

tl::unexpected<Error> system_failure(const std::string& what) {
  return fail(ExitCode::machine_lacks, fmt::format("{}: {}", what, std::strerror(errno)));
}

sockaddr_in loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

}  // namespace

Result<BoundPort> bind_port() {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.open()) return system_failure("cannot make a socket");
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(socket.number(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return system_failure("cannot bind a port on the loopback interface");
  }
  return BoundPort{std::move(socket), static_cast<int>(ntohs(address.sin_port))};
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(number_, -1); }

void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

Result<void> Channel::send(const nlohmann::json& message) {
  const std::string body = dump(message);
  const std::uint32_t length = htonl(static_cast<std::uint32_t>(body.size()));
  std::string frame(reinterpret_cast<const char*>(&length), sizeof length);
  frame += body;
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t count =
        ::send(socket_.number(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return system_failure("the connection between host and worker broke");
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

Result<std::optional<nlohmann::json>> Channel::receive() {
  while (true) {
    auto message = next();
    if (!message || *message) return message;
    const auto alive = read_available();
    if (!alive) return tl::unexpected(alive.error());
    if (!*alive) return std::optional<nlohmann::json>();
  }
}

Result<bool> Channel::read_available() {
  char buffer[65536];
  const ssize_t count = ::recv(socket_.number(), buffer, sizeof buffer, 0);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (count < 0 && errno != ECONNRESET) return system_failure("cannot read from the other process");
  if (count <= 0) return false;
  received_.append(buffer, static_cast<std::size_t>(count));
  return true;
}

Result<std::optional<nlohmann::json>> Channel::next() {
  std::uint32_t length = 0;
  if (received_.size() < sizeof length) return std::optional<nlohmann::json>();
  std::memcpy(&length, received_.data(), sizeof length);
  length = ntohl(length);
  if (length > message_limit_bytes) {
    return fail(
        ExitCode::machine_lacks,
        fmt::format("a message of {} bytes is over the limit of {}", length, message_limit_bytes));
  }
  if (received_.size() < sizeof length + length) return std::optional<nlohmann::json>();
  auto message = parse_json(std::string_view(received_).substr(sizeof length, length));
  received_.erase(0, sizeof length + length);
  if (!message) {
    return fail(ExitCode::machine_lacks, "a message between host and worker cannot be read: " +
                                             message.error().diagnostics[0].message);
  }
  return std::optional(std::move(*message));
}

Result<Listener> Listener::on_loopback() {
  auto bound = bind_port();
  if (!bound) return tl::unexpected(bound.error());
  Listener listener;
  listener.socket_ = std::move(bound->socket);
  listener.port_ = bound->port;
  if (::listen(listener.socket_.number(), SOMAXCONN) != 0) return system_failure("cannot listen");
  return listener;
}

std::string Listener::address() const { return fmt::format("127.0.0.1:{}", port_); }

Result<Channel> Listener::accept() {
  Descriptor socket(::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.open()) return system_failure("cannot accept a worker's connection");
  const int on = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return Channel(std::move(socket));
}

Result<Channel> connect(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in remote = {};
  remote.sin_family = AF_INET;
  if (colon == std::string::npos ||
      ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &remote.sin_addr) != 1) {
    return fail(ExitCode::bad_input, fmt::format("'{}' is not an address of a host", address),
                "an address is written 127.0.0.1:4000");
  }
  remote.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.open()) return system_failure("cannot make a socket");
  if (::connect(socket.number(), reinterpret_cast<sockaddr*>(&remote), sizeof remote) != 0) {
    return system_failure("cannot reach the host at " + address);
  }
  const int on = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return Channel(std::move(socket));
}

}  // namespace assay::wire
