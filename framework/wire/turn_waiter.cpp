#include "wire/turn_waiter.h"

#include <stdexcept>

namespace assay::wire {

bool TurnWaiter::await(const std::string& pass, std::int64_t taken, std::int64_t planned) {
  if (pass == pass_ && readings_left_ > 0) {
    --readings_left_;
    return false;
  }
  pass_ = pass;
  if (before_asking_) before_asking_();
  if (const auto sent = host_.send(to_json(TurnWanted{ordinal_, pass, taken, planned})); !sent) {
    throw std::runtime_error(sent.error().text());
  }
  const Turn turn = next_turn();
  readings_left_ = turn.samples - 1;
  return turn.after_others;
}

Turn TurnWaiter::next_turn() {
  const auto message = host_.receive();
  if (!message) throw std::runtime_error(message.error().text());
  if (!*message)
    throw std::runtime_error("the host closed the connection while a rank waited for its turn");
  auto turn = turn_from_json(**message);
  if (!turn) throw std::runtime_error(turn.error().text());
  if (turn->ordinal != ordinal_) throw std::runtime_error("the host gave a turn of another case");
  return *turn;
}

}  // namespace assay::wire
