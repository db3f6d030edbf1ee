#pragma once

#include <string>

#include "wire/channel.h"
#include "wire/messages.h"

namespace assay::wire {

// A rank's side of measuring in turns.
class TurnWaiter {
 public:
  TurnWaiter(Channel& host, std::int64_t ordinal) : host_(host), ordinal_(ordinal) {}

  // Ahead of each reading: returns at once within a turn, else asks for the next one and waits for
  // it. True where others were measured since the last reading. Throws std::runtime_error where the
  // host is gone or says something else.
  bool await(const std::string& pass, std::int64_t taken, std::int64_t planned);

 private:
  Turn next_turn();

  Channel& host_;
  std::int64_t ordinal_;
  std::string pass_;
  std::int64_t left_ = 0;  // readings of the turn
};

}  // namespace assay::wire
