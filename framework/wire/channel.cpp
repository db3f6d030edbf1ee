#include "wire/channel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/json.h"
#include "base/text.h"
#include "wire/sockets.h"

namespace assay::wire {

namespace {

// A worker's or an agent's socket: short messages leave at once, and a machine that is gone shows.
Channel channel_over(Descriptor socket) {
  const int on = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Channel channel(std::move(socket));
  channel.set_silence_limit(silence_limit().value_or(usual_silence));
  return channel;
}

std::string host_of(int socket, int (*which)(int, sockaddr*, socklen_t*)) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  if (which(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  char text[INET_ADDRSTRLEN] = {};
  return ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text) == nullptr ? "" : text;
}

}  // namespace

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

Result<std::chrono::seconds> silence_limit() {
  const char* given = std::getenv(silence_variable);
  if (given == nullptr) return usual_silence;
  const auto seconds = parse_duration(given);
  if (seconds && *seconds >= 4 && *seconds <= 3600) {
    return std::chrono::seconds(std::llround(*seconds));
  }
  return fail(ExitCode::bad_input,
              fmt::format("{}: '{}' is no duration of 4 s to 1 h", silence_variable, given),
              "write it as '30 s'");
}

// Not TCP_USER_TIMEOUT: it also ends a connection whose other side answers, but has no room for
// more, as while a busy process does not read.
void Channel::set_silence_limit(std::chrono::seconds limit) {
  silence_limit_ = limit;
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket_.number(), level, option, &value, sizeof value);
  };
  constexpr int probes = 3;
  const auto whole_s = static_cast<int>(limit.count());
  const int every_s = std::max(1, whole_s / 6);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, whole_s - probes * every_s));
  set(IPPROTO_TCP, TCP_KEEPINTVL, every_s);
  set(IPPROTO_TCP, TCP_KEEPCNT, probes);
}

// While something is on the way, the system sends that again in place of keep-alive probes; where
// it finds no way, or the other side has no room, it probes for one. A machine that is there
// answers each probe, so that two in a row are never open; its answers become rare, though.
bool Channel::silent() const {
  tcp_info info = {};
  socklen_t size = sizeof info;
  if (::getsockopt(socket_.number(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  const bool sent_again = info.tcpi_unacked > 0 && info.tcpi_retransmits > 0;
  return (sent_again || info.tcpi_probes > 1) &&
         std::chrono::milliseconds(info.tcpi_last_ack_recv) > silence_limit_;
}

Result<void> Channel::send(const nlohmann::json& message) {
  const std::string body = dump(message);
  const std::uint32_t length = htonl(static_cast<std::uint32_t>(body.size()));
  std::string frame(reinterpret_cast<const char*>(&length), sizeof length);
  frame += body;
  if (signs_) {
    const std::uint64_t tag = signs_->next(body);
    frame.append(reinterpret_cast<const char*>(&tag), sizeof tag);
  }
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t count = ::send(socket_.number(), frame.data() + sent, frame.size() - sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd room = {socket_.number(), POLLOUT, 0};
      if (::poll(&room, 1, 1000) != 0 || !silent()) continue;
      errno = ETIMEDOUT;
    }
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

std::string Channel::own_host() const { return host_of(socket_.number(), ::getsockname); }
std::string Channel::peer_host() const { return host_of(socket_.number(), ::getpeername); }

Result<bool> Channel::read_available() {
  std::string buffer(std::size_t{1} << 16, '\0');  // not on the stack, which may be small
  const ssize_t count = ::recv(socket_.number(), buffer.data(), buffer.size(), 0);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (count < 0 && errno != ECONNRESET) return system_failure("cannot read from the other process");
  if (count <= 0) return false;
  received_.append(buffer, 0, static_cast<std::size_t>(count));
  return true;
}

Result<std::optional<nlohmann::json>> Channel::next(std::size_t limit_bytes) {
  std::uint32_t length = 0;
  if (received_.size() < sizeof length) return std::optional<nlohmann::json>();
  std::memcpy(&length, received_.data(), sizeof length);
  length = ntohl(length);
  if (length > limit_bytes) {
    return fail(ExitCode::machine_lacks,
                fmt::format("a message of {} bytes is over the limit of {}", length, limit_bytes));
  }
  const std::size_t tag_bytes = expects_ ? sizeof(std::uint64_t) : 0;
  const std::size_t whole = sizeof length + length + tag_bytes;
  if (received_.size() < whole) return std::optional<nlohmann::json>();
  const std::string_view body = std::string_view(received_).substr(sizeof length, length);
  if (expects_) {
    std::uint64_t tag = 0;
    std::memcpy(&tag, body.data() + body.size(), sizeof tag);
    if (tag != expects_->next(body)) {
      forged_ = true;
      return fail(ExitCode::machine_lacks, "a message came that its worker did not send");
    }
  }
  auto message = parse_json(body);
  received_.erase(0, whole);
  if (!message) {
    return fail(ExitCode::machine_lacks, "a message between host and worker cannot be read: " +
                                             message.error().diagnostics[0].message);
  }
  return std::optional(std::move(*message));
}

Result<Listener> Listener::on(const std::string& host, int port) {
  auto bound = bind_port(host, port);
  if (!bound) return tl::unexpected(bound.error());
  Listener listener;
  listener.socket_ = std::move(bound->socket);
  listener.host_ = host;
  listener.port_ = bound->port;
  if (::listen(listener.socket_.number(), SOMAXCONN) != 0) {
    return system_failure(fmt::format("cannot listen at {}:{}", host, listener.port_));
  }
  return listener;
}

std::string Listener::address() const {
  if (host_ != "0.0.0.0") return fmt::format("{}:{}", host_, port_);
  std::string all;
  for (const std::string& host : own_hosts()) {
    all += fmt::format("{}{}:{}", all.empty() ? "" : ",", host, port_);
  }
  return all;
}

Result<Channel> Listener::accept() {
  Descriptor socket(::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.open()) return system_failure("cannot accept a worker's connection");
  return channel_over(std::move(socket));
}

Result<Channel> connect(const std::string& addresses, std::chrono::milliseconds wait) {
  Result<Channel> last = fail(ExitCode::bad_input, "no address of a host was given");
  for (const std::string& address : split(addresses, ',')) {
    auto socket = connected_socket(address, wait);
    if (socket) return channel_over(std::move(*socket));
    last = tl::unexpected(std::move(socket.error()));
  }
  return last;
}

}  // namespace assay::wire
