#pragma once

#include <functional>
#include <string>
#include <utility>

#include "wire/channel.h"
#include "wire/messages.h"

namespace assay::wire {

class TurnWaiter {
 public:
  // before_asking: runs after a turn, ahead of asking for the next.
  TurnWaiter(Channel& host, std::int64_t ordinal, std::function<void()> before_asking = {})
      : host_(host), ordinal_(ordinal), before_asking_(std::move(before_asking)) {}

  // Call ahead of each reading: returns at once within a turn, else asks for the next one and waits
  // for it. True where another case was measured since the last reading. Throws std::runtime_error
  // where the host is gone or answers otherwise.
  bool await(const std::string& pass, std::int64_t taken, std::int64_t planned);

 private:
  Turn next_turn();

  Channel& host_;
  std::int64_t ordinal_;
  std::function<void()> before_asking_;
  std::string pass_;
  std::int64_t readings_left_ = 0;  // in this turn
};

}  // namespace assay::wire
