#pragma once

#include <poll.h>

#include <chrono>
#include <list>
#include <nlohmann/json.hpp>
#include <vector>

#include "wire/channel.h"

namespace assay::wire {

// What a connection may take before it is known.
struct ArrivalLimits {
  std::size_t connections = 256;  // at once; more wait in the system's queue
  std::size_t message_bytes = 1u << 20;
  std::chrono::milliseconds time = std::chrono::seconds(30);  // to its first message
};

// Connections whose first message, which shows the token, has not come yet: anybody may make them.
// Those that break a limit are dropped.
class Arrivals {
 public:
  struct Arrived {
    Channel channel;
    nlohmann::json message;
  };

  // The listener outlives this.
  explicit Arrivals(Listener& listener, ArrivalLimits limits = {})
      : listener_(listener), limits_(limits) {}

  // Adds the descriptors that are readable when take() has something to do. Wait at most a second:
  // time that is up makes none readable.
  void watch(std::vector<pollfd>& watched) const;
  // Those whose first message has come; never blocks.
  Result<std::vector<Arrived>> take();

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Channel channel;
    Clock::time_point limit;
  };
  bool full() const { return waiting_.size() >= limits_.connections; }
  Result<void> accept();

  Listener& listener_;
  ArrivalLimits limits_;
  std::list<Waiting> waiting_;
};

}  // namespace assay::wire
