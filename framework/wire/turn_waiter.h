#pragma once

#include <functional>
#include <string>
#include <utility>

#include "wire/channel.h"
#include "wire/messages.h"

namespace assay::wire {

// A rank's side of measuring in turns.
class TurnWaiter {
 public:
  // before_asking: called when a turn has ended, ahead of asking for the next.
  TurnWaiter(Channel& host, std::int64_t ordinal, std::function<void()> before_asking = {})
      : host_(host), ordinal_(ordinal), before_asking_(std::move(before_asking)) {}

  // Ahead of each reading: returns at once within a turn, else asks for the next one and waits for
  // it. True where others were measured since the last reading. Throws std::runtime_error where the
  // host is gone or says something else.
  bool await(const std::string& pass, std::int64_t taken, std::int64_t planned);

 private:
  Turn next_turn();

  Channel& host_;
  std::int64_t ordinal_;
  std::function<void()> before_asking_;
  std::string pass_;
  std::int64_t left_ = 0;  // readings of the turn
};

}  // namespace assay::wire
