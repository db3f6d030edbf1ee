// Reads frames from a socket, and in them every message of host and worker.
//
// After a leading '#' an input is the socket's raw bytes; otherwise each line is one frame's text.

#include "wire/channel.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstring>

#include "base/text.h"
#include "target.h"
#include "wire/agent_messages.h"
#include "wire/check_messages.h"
#include "wire/messages.h"

namespace assay::fuzz {
namespace {

std::string stream_of(std::string_view input) {
  if (input.starts_with('#')) return std::string(input.substr(1));
  std::string stream;
  for (const std::string& line : split(input, '\n')) {
    const std::uint32_t length = htonl(static_cast<std::uint32_t>(line.size()));
    stream.append(reinterpret_cast<const char*>(&length), sizeof length);
    stream += line;
  }
  return stream;
}

// Requires that an accepted message survives writing and reading.
template <class Message>
void read_as(const nlohmann::json& message,
             Result<Message> (*read)(const nlohmann::json& message)) {
  const Result<Message> understood = read(message);
  if (!understood) return require_explained(understood.error());
  const nlohmann::json said = wire::to_json(*understood);
  const Result<Message> again = read(said);
  require(again.has_value(), "what is sent can be read");
  require(wire::to_json(*again) == said, "what is sent is understood");
}

void read_as_any(const nlohmann::json& message) {
  wire::message_type(message);
  read_as(message, wire::hello_from_json);
  read_as(message, wire::case_request_from_json);
  read_as(message, wire::progress_from_json);
  read_as(message, wire::measured_from_json);
  read_as(message, wire::case_done_from_json);
  read_as(message, wire::turn_wanted_from_json);
  read_as(message, wire::turn_from_json);
  read_as(message, wire::check_request_from_json);
  read_as(message, wire::check_suite_from_json);
  read_as(message, wire::check_begins_from_json);
  read_as(message, wire::check_result_from_json);
  read_as(message, wire::join_from_json);
  read_as(message, wire::start_worker_from_json);
  read_as(message, wire::worker_printed_from_json);
  read_as(message, wire::worker_ended_from_json);
  read_as(message, wire::asked_from_json);
}

}  // namespace
}  // namespace assay::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  int ends[2];
  fuzz::require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a socket pair");
  wire::Channel channel{wire::Descriptor(ends[0])};
  {
    const wire::Descriptor other(ends[1]);
    const std::string stream = fuzz::stream_of(fuzz::text_of(data, size));
    // A full buffer cuts the input off, as a worker's death does.
    static_cast<void>(::send(ends[1], stream.data(), stream.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  while (true) {
    const auto message = channel.receive();
    if (!message) {
      fuzz::require_explained(message.error());
      return 0;
    }
    if (!*message) return 0;
    fuzz::read_as_any(**message);
  }
}
