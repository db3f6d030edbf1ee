#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"

namespace assay::wire {

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  int release();
  void close();

 private:
  int number_ = -1;
};

// JSON messages over a stream socket, each framed by its length (4 bytes, network order). Whoever
// is at the other end, a frame over the limit, one that is not JSON and one nested deeper than 64
// is an error and the channel of no more use.
// One way for one machine and for many: a worker connects to the address it is given.
class Channel {
 public:
  static constexpr std::size_t message_limit_bytes = 64u << 20;

  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  bool open() const { return socket_.open(); }
  int descriptor() const { return socket_.number(); }
  void close() { socket_.close(); }

  // Blocks until all of it is handed to the system.
  Result<void> send(const nlohmann::json& message);
  // Blocks until a whole message is there; an empty optional when the other side has closed.
  Result<std::optional<nlohmann::json>> receive();

  // For an event loop: reads what is there without blocking, then hands out whole messages.
  // False once the other side has closed.
  Result<bool> read_available();
  Result<std::optional<nlohmann::json>> next();

 private:
  Descriptor socket_;
  std::string received_;
};

// Listens on the loopback interface, on a port the system picks.
class Listener {
 public:
  static Result<Listener> on_loopback();

  std::string address() const;  // "127.0.0.1:port"
  int descriptor() const { return socket_.number(); }
  Result<Channel> accept();

 private:
  Descriptor socket_;
  int port_ = 0;
};

Result<Channel> connect(const std::string& address);

// A TCP port on the loopback interface that is this process' as long as the socket is open; nobody
// listens on it yet. For the ranks' rendezvous.
struct BoundPort {
  Descriptor socket;
  int port = 0;
};
Result<BoundPort> bind_port();

}  // namespace assay::wire
