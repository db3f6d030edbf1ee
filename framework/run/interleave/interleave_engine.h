#pragma once

// run/interleave measures the cases of one group: which belong together, in what order, on which
// workers. A case measured alone is a group of one. It depends on run/external. Start here.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/workers/worker_group.h"

namespace assay::run {

// A case as the engine sees it. It works only within these calls; between them it holds its memory
// and waits.
class InterleaveMember {
 public:
  virtual ~InterleaveMember() = default;
  // Both return when it wants its next turn, or nothing once it has ended.
  // Builds, verifies and warms up; a case measured alone is also measured here.
  virtual std::optional<wire::TurnWanted> start() = 0;
  virtual std::optional<wire::TurnWanted> take(const wire::Turn& turn) = 0;
  // Once it wants no more turns. What it ran on is idle, or gone, afterwards.
  virtual CaseEnd end() = 0;
  virtual bool holds_memory() const = 0;
};

using InterleaveMembers = std::vector<std::unique_ptr<InterleaveMember>>;

// How one pass went.
struct InterleavePass {
  std::string pass;
  std::int64_t block = 1;  // samples a turn
  std::size_t rounds = 0;  // begun
  std::string turns;       // whose they were so far, "ABBA"
};

// How a member ended.
struct InterleaveEnd {
  CaseEnd end;
  double worked_s = 0;                       // within its calls
  bool beside_others = false;                // others held memory then
  const std::vector<InterleavePass>& turns;  // of all members; the engine's
};

struct InterleaveRules {
  std::int64_t seed = 0;            // measure.seed
  std::vector<std::string> keys;    // of the cases, in the order of the members
  std::vector<std::string> passes;  // in the order they are measured in
  std::function<bool()> stop;       // nothing more is to be measured
  // Member `index` begins.
  std::function<void(std::size_t index)> begins;
  // It has ended; called once for each, before anybody else goes on.
  std::function<void(std::size_t index, InterleaveEnd end)> ended;
};

// Measures the members: prepares one after the other, then pass for pass gives each its turns of
// samples until it wants none, and only then begins the next pass. What a member does between its
// last sample of one pass and its first of the next (memory, capture, warm-up) belongs to its last
// turn, so that never two of them work at once. One that ends early leaves the others their turns.
// A single member asks for no turns: it is measured as it starts. Where it is to stop, a member
// that has not ended by then is not told of.
void interleave(const InterleaveMembers& members, const InterleaveRules& rules);

// Why a case must be measured again alone that ended so beside others; "" where they did not harm
// it.
std::string harm_by_others(const CaseEnd& end);

// The fact of a member; names: of all members, such as "attention=flash".
store::InterleaveFacts interleave_fact(std::size_t index, const std::vector<std::string>& names,
                                       const std::vector<InterleavePass>& turns);
// That of a case that is measured alone although it has others to be compared with.
store::InterleaveFacts interleave_fact(const std::string& why_apart);

}  // namespace assay::run
