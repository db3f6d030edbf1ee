#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "wire/frame_tag.h"

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

// How long another machine may leave unanswered what this one's system sends it before it counts as
// gone: it has lost power or its link. A duration of 4 s to 1 h, such as "30 s".
inline constexpr const char* silence_variable = "ASSAY_SILENCE_LIMIT";
inline constexpr std::chrono::seconds usual_silence(12);
// What the variable says. ExitCode::bad_input where it cannot be read.
Result<std::chrono::seconds> silence_limit();

// JSON messages over a stream socket, each framed by its length (4 bytes, network order) and, where
// it is signed, followed by its tag (8 bytes). A frame over the limit, of something else than JSON
// or nested deeper than 64 is an error and ends the channel's use.
class Channel {
 public:
  static constexpr std::size_t message_limit_bytes = 64u << 20;

  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  bool open() const { return socket_.open(); }
  int descriptor() const { return socket_.number(); }
  void close() { socket_.close(); }
  // The IPv4 addresses of this end and the other, "10.0.0.2"; "" where the system does not say.
  std::string own_host() const;
  std::string peer_host() const;

  // The connection then ends with an error where nothing is on the way and the other machine has
  // not answered for so long. It answers however busy the other process is.
  void set_silence_limit(std::chrono::seconds limit);
  std::chrono::seconds silence_limit() const { return silence_limit_; }
  // Whether the other machine has left what is on the way to it unanswered for so long: the system
  // would try on for a quarter of an hour. Ask once a second while waiting.
  bool silent() const;

  // From now on each message that is sent carries a tag which only this secret makes, or each that
  // is received must. Whoever else writes to the socket, such as a plugin in the worker's process,
  // is found out: next() fails.
  void sign_with(std::string_view secret) { signs_.emplace(secret); }
  void expect_signed(std::string_view secret) { expects_.emplace(secret); }
  // Whether a message has come that nobody signed.
  bool forged() const { return forged_; }

  // Blocks until the system has the whole message, or the other machine is silent.
  Result<void> send(const nlohmann::json& message);
  // Blocks until a whole message is there; nullopt once the other side has closed.
  Result<std::optional<nlohmann::json>> receive();

  // For an event loop: reads without blocking, then next() returns whole messages. False once the
  // other side has closed.
  Result<bool> read_available();
  Result<std::optional<nlohmann::json>> next(std::size_t limit_bytes = message_limit_bytes);

 private:
  Descriptor socket_;
  std::chrono::seconds silence_limit_ = usual_silence;
  std::string received_;
  std::optional<FrameTags> signs_;
  std::optional<FrameTags> expects_;
  bool forged_ = false;
};

// The connections that accept() and connect() return have the silence limit of this process.
class Listener {
 public:
  static Result<Listener> on_loopback() { return on("127.0.0.1", 0); }
  // host: an IPv4 address or a name of this machine; "0.0.0.0": all its addresses. port: 0 takes a
  // free one. ExitCode::machine_lacks where the port is taken or the address another machine's.
  static Result<Listener> on(const std::string& host, int port);

  // "127.0.0.1:port"; of a listener on all addresses each of them, as connect() takes them.
  std::string address() const;
  int port() const { return port_; }
  int descriptor() const { return socket_.number(); }
  Result<Channel> accept();

 private:
  Descriptor socket_;
  std::string host_;
  int port_ = 0;
};

// Connects to the first of "host:port,host:port,…" that answers within the time.
Result<Channel> connect(const std::string& addresses,
                        std::chrono::milliseconds wait = std::chrono::seconds(10));

// A TCP port reserved for the ranks' rendezvous while the socket is open. Nobody listens on it yet.
struct BoundPort {
  Descriptor socket;
  int port = 0;
};
// As Listener::on(). Errors name the address.
Result<BoundPort> bind_port(const std::string& host = "127.0.0.1", int port = 0);

// The IPv4 addresses of this machine's interfaces that are up, the loopback's last.
std::vector<std::string> own_hosts();

}  // namespace assay::wire
