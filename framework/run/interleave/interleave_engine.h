#pragma once

// run/interleave groups cases and measures each group in turns. A case measured alone is a group of
// one. It depends on run/external. Start here.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/workers/worker_group.h"

namespace assay::run {

// A case as the engine sees it. It works only within these calls and keeps its memory between them.
class InterleaveMember {
 public:
  virtual ~InterleaveMember() = default;
  // Builds, verifies and warms up; also measures where the case is alone. start() and take()
  // return the turn it wants next, or nothing once it has ended.
  virtual std::optional<wire::TurnWanted> start() = 0;
  virtual std::optional<wire::TurnWanted> take(const wire::Turn& turn) = 0;
  // Call once it wants no turn. Its workers or program are idle, or gone, afterwards.
  virtual CaseEnd end() = 0;
  virtual bool holds_memory() const = 0;
};

using InterleaveMembers = std::vector<std::unique_ptr<InterleaveMember>>;

struct InterleavePass {
  std::string pass;
  std::int64_t block = 1;  // samples a turn
  std::size_t rounds = 0;  // begun
  std::string turns;       // the members that took them so far, "ABBA"
};

struct InterleaveEnd {
  CaseEnd end;
  double worked_s = 0;                       // within its calls
  bool beside_others = false;                // other members held memory at its end
  const std::vector<InterleavePass>& turns;  // of all members; owned by the engine
};

struct InterleaveRules {
  std::int64_t seed = 0;            // measure.seed
  std::vector<std::string> keys;    // of the cases, in the order of the members
  std::vector<std::string> passes;  // in the order they are measured in
  std::function<bool()> stop;       // whether to stop measuring
  std::function<void(std::size_t index)> begins;
  // Called once a member, before any other continues.
  std::function<void(std::size_t index, InterleaveEnd end)> ended;
};

// Prepares the members one after the other, then gives each its turns, pass by pass. Only one
// member works at a time: its work between two passes (memory, capture, warm-up) belongs to its
// last turn of the first. A member that ends early leaves the others their turns. A single member
// asks for no turn: start() measures it. A stop drops the members that have not ended.
void interleave(const InterleaveMembers& members, const InterleaveRules& rules);

// Why a case with this end must be measured again alone; "" where the others did not harm it.
// beside_others: whether any of them held memory still when it ended.
std::string harm_by_others(const CaseEnd& end, bool beside_others);

// What the facts of a member record; names: of all members, such as "attention=flash".
store::InterleaveFacts interleave_fact(std::size_t index, const std::vector<std::string>& names,
                                       const std::vector<InterleavePass>& turns);

}  // namespace assay::run
