#pragma once

#include <functional>

#include "health/judge.h"
#include "health/watch.h"
#include "run/cases/resolve.h"
#include "run/workers/worker_group.h"

namespace assay::run {

// How often a case is measured at most with `measure.unhealthy: retry`.
inline constexpr int most_tries = 3;

// Processes of the case that may be seen on a GPU: its ranks, or a program and the worker that then
// checks it.
int processes_of(const ResolvedCase& resolved);

// What a case uses of the machine. On a GPU two cores a rank: the thread that launches, and the one
// that runs backward; on the CPU all it may use, as LibTorch does, or as many as `threads` (the
// text of OMP_NUM_THREADS; nullptr where it is not set) says.
health::Needs needs_of(const ResolvedCase& resolved, const health::CpuSource& cpus,
                       const char* threads);

// What a case is measured with.
struct Watched {
  health::Watch& watch;
  health::Needs needs;
  std::function<CaseEnd()> execute;
  std::function<void(const std::string&)> doing;  // told of another try
  std::function<bool()> stopping;                 // asked before one
};

// Measures a case while the machine is watched, and does what its `measure.unhealthy` says about
// what was seen:
// - mark: joins `marks` to the context;
// - retry: measures a marked case again, `most_tries` in all, and keeps the try with the fewest
//   marks, of equals the first;
// - discard: also names the passes whose times reports leave out (`discarded` in the context).
// What was read joins the context as `health`. A case that did not end `ok` is measured once.
CaseEnd execute_watched(const ResolvedCase& resolved, const Watched& watched);

// The machine a run is on, and the watch over it. One for a run: opening NVML takes a while.
class WatchedMachine {
 public:
  WatchedMachine();

  const Machine& machine() const { return machine_; }
  CaseEnd execute(const ResolvedCase& resolved, const std::function<CaseEnd()>& execute,
                  const std::function<void(const std::string&)>& doing,
                  const std::function<bool()>& stopping);

  // The same for one of several cases that take turns, watched from its begin to its end: what
  // held the machine up in the turns of others counts as well. `processes_beside`: of the others.
  // `retry` does not come with turns (config/read/interleave.h).
  health::Watch::Ticket begin(const ResolvedCase& resolved);
  CaseEnd end(health::Watch::Ticket ticket, const ResolvedCase& resolved, int processes_beside,
              CaseEnd end);
  // Of one that has not ended.
  void drop(health::Watch::Ticket ticket) { watch_.end(ticket); }

 private:
  std::shared_ptr<health::GpuSource> gpus_;
  std::shared_ptr<health::CpuSource> cpus_;
  Machine machine_;
  health::Watch watch_;
};

}  // namespace assay::run
