#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "measure/clock.h"
#include "worker/looks/end_to_end.h"
#include "worker/looks/input_renewal.h"
#include "worker/pass/pass_measurement.h"
#include "worker/pass/pass_stopwatch.h"

namespace assay::worker {

// All programs of a pass, each prepared for it: the case's own, those that rotate with it for a
// cold cache, and those that make rows longer.
class PassPrograms {
 public:
  // `step` is the case's own. It and `what` must outlive this.
  PassPrograms(const PassToMeasure& what, const GuardedStep& step);

  const std::vector<CalledProgram>& called() const { return called_; }
  const std::vector<measure::Call>& calls() const { return calls_; }
  measure::Tracer* tracer(std::size_t i) const { return tracers_[i]; }

  // Prepares further programs and returns their calls.
  std::vector<measure::Call> take(std::vector<AnotherProgram> programs);
  // The calls whose samples must agree with the time until their outputs have been read: of all
  // programs where they come in rows, or of the first, which may make so many calls in a row.
  EndToEnd as_used(bool in_rows, int in_a_row) const;
  // Gives each program's renewal a number that all ranks share.
  void share(std::uint64_t secret) const;

 private:
  struct Further {
    AnotherProgram program;
    InputRenewal renewal;
    GuardedStep step;  // destroyed first: it refers to the program
  };

  void add(ProgramBoundary& program, InputRenewal& renewal, measure::Tracer* tracer,
           const GuardedStep& step);

  const PassToMeasure& what_;
  std::vector<CalledProgram> called_;
  std::vector<measure::Tracer*> tracers_;
  std::deque<Further> further_;  // never moved: calls refer to them
  std::vector<measure::Call> calls_;
};

// Calls of one reading that the program makes itself; 0: the clock makes them one by one.
int calls_in_a_row(ProgramBoundary& program, const std::string& pass);

}  // namespace assay::worker
