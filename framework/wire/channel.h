#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"

namespace assay::wire {

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

// JSON messages over a stream socket, each framed by its length (4 bytes, network order). A frame
// over the limit, of something else than JSON or nested deeper than 64 is an error and ends the
// channel's use.
class Channel {
 public:
  static constexpr std::size_t message_limit_bytes = 64u << 20;

  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  bool open() const { return socket_.open(); }
  int descriptor() const { return socket_.number(); }
  void close() { socket_.close(); }

  // Blocks until the system has the whole message.
  Result<void> send(const nlohmann::json& message);
  // Blocks until a whole message is there; nullopt once the other side has closed.
  Result<std::optional<nlohmann::json>> receive();

  // For an event loop: reads without blocking, then next() returns whole messages. False once the
  // other side has closed.
  Result<bool> read_available();
  Result<std::optional<nlohmann::json>> next();

 private:
  Descriptor socket_;
  std::string received_;
};

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

// A TCP port on the loopback interface, reserved for the ranks' rendezvous while the socket is
// open. Nobody listens on it yet.
struct BoundPort {
  Descriptor socket;
  int port = 0;
};
Result<BoundPort> bind_port();

}  // namespace assay::wire
