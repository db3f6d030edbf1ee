#pragma once

#include <functional>
#include <memory>
#include <string>

#include "run/cases/resolve.h"
#include "run/interleave/interleave_passes.h"
#include "run/workers/worker_pool.h"

namespace assay::run {

// One of the cases that are measured in turns.
class CaseInTurns : public TurnTaker {
 public:
  // Once it wants no more turns. What it ran on is spare, or gone, afterwards.
  virtual CaseEnd end() = 0;
  // Holds memory.
  virtual bool resident() const = 0;
  double worked_s() const { return worked_s_; }

 protected:
  using Wanted = std::optional<wire::TurnWanted>;
  Wanted timed(const std::function<Wanted()>& work);

 private:
  double worked_s_ = 0;
};

// On workers of its own, or in the program that an external variant names. `begins` is called when
// it starts; everything passed by reference outlives it.
std::unique_ptr<CaseInTurns> make_case_in_turns(
    const ResolvedCase& resolved, SpareGroups& spare, Interrupt& interrupt,
    std::function<void()> begins, const std::function<void(const std::string&)>& doing);

}  // namespace assay::run
