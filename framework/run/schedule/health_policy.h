#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// One case while it is measured: watches the machine during each try, and does what the case's
// `measure.unhealthy` says about what was seen:
// - mark: joins `marks` to the facts;
// - retry: wants a marked case measured again, `most_tries` in all, and keeps the try with the
//   fewest marks, of equals the first; does not come with turns (config/read/interleave.h);
// - discard: also names the passes whose times reports leave out (`discarded` in the facts).
// What was read joins the facts as `health`. A case that did not end `ok` is measured once.
class WatchedCase {
 public:
  WatchedCase(health::Watch& watch, health::Needs needs, std::string policy)
      : watch_(watch), needs_(std::move(needs)), policy_(std::move(policy)) {}
  WatchedCase(WatchedCase&& other) noexcept;
  ~WatchedCase() { drop(); }

  // A try begins; one that has not ended is forgotten.
  void begin();
  // It has ended. What held the machine up in the turns of others counts as well; others:
  // processes beside the case's own. One that was interrupted does not count.
  void end(CaseEnd end, int others = 0);
  bool tried() const { return !tries_.empty(); }
  // What to say of the next try, "try 2 of 3, the last was wide"; nothing where there is to be
  // none.
  std::optional<std::string> next_try() const;
  // The end of the try to keep; nothing where none has ended.
  std::optional<CaseEnd> conclude();

 private:
  struct Try {
    CaseEnd end;
    nlohmann::json health;
    std::vector<store::Mark> marks;
  };

  static std::string in_words(const Try& one);
  static std::map<std::string, std::string> discarded_by(const Try& one);
  void drop();

  health::Watch& watch_;
  health::Needs needs_;
  std::string policy_;
  std::optional<health::Watch::Ticket> ticket_;
  std::vector<std::string> tries_;  // in words
  std::optional<Try> kept_;
  std::size_t kept_try_ = 0;
};

// The machine a run is on, and the watch over it. One for a run: opening NVML takes a while.
class WatchedMachine {
 public:
  WatchedMachine();

  const Machine& machine() const { return machine_; }
  WatchedCase watch(const ResolvedCase& resolved);

 private:
  std::shared_ptr<health::GpuSource> gpus_;
  std::shared_ptr<health::CpuSource> cpus_;
  Machine machine_;
  health::Watch watch_;
};

}  // namespace assay::run
