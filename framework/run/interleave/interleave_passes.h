#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wire/messages.h"

namespace assay::run {

// A case that is measured in turns with others, as whoever gives the turns sees it. It works only
// within these calls; between them it holds its memory and waits.
class TurnTaker {
 public:
  virtual ~TurnTaker() = default;
  // Both return when it wants its next turn, or nothing once it has ended.
  // Builds, verifies and warms up.
  virtual std::optional<wire::TurnWanted> start() = 0;
  virtual std::optional<wire::TurnWanted> take(const wire::Turn& turn) = 0;
};

// How one pass went.
struct TurnsOfPass {
  std::string pass;
  std::int64_t block = 1;  // samples a turn
  std::size_t rounds = 0;  // begun
  std::string turns;       // whose they were so far, "ABBA"
};

struct TurnRules {
  std::int64_t seed = 0;            // measure.seed
  std::vector<std::string> keys;    // of the cases, in the order of the members
  std::vector<std::string> passes;  // in the order they are measured in
  std::function<bool()> stop;       // nothing more is to be measured
  // Member `index` has ended; called once for each, before anybody else goes on.
  std::function<void(std::size_t index, const std::vector<TurnsOfPass>& turns)> ended;
};

// Measures the members in turns: prepares one after the other, then pass for pass gives each its
// turns of samples until it wants none, and only then begins the next pass. What a member does
// between its last sample of one pass and its first of the next (memory, capture, warm-up) belongs
// to its last turn, so that never two of them work at once. One that ends early leaves the others
// their turns.
void take_turns(const std::vector<TurnTaker*>& members, const TurnRules& rules);

}  // namespace assay::run
