#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "health/judge.h"
#include "health/watch.h"
#include "run/cases/resolve.h"
#include "run/launch/seat_watch.h"
#include "run/workers/worker_group.h"

namespace assay::run {

inline constexpr int most_tries = 3;

// Processes of the case that may use a GPU: its ranks, or a program and the worker that checks it.
int processes_of(const ResolvedCase& resolved);

// What a case uses of the machine. threads: the text of OMP_NUM_THREADS; nullptr: not set.
health::Needs needs_of(const ResolvedCase& resolved, const health::CpuSource& cpus,
                       const char* threads);

// Watches the machine during each try of one case and applies the case's `measure.unhealthy`:
// - mark: adds `marks` to the facts;
// - retry: measures a marked case again, `most_tries` in all, and keeps the first try with the
//   fewest marks; excluded by turns (config/read/interleave.h);
// - discard: also names the passes whose times reports leave out (`discarded` in the facts).
// The readings join the facts as `health`. A case that did not end `ok` is measured once.
class WatchedCase {
 public:
  WatchedCase(health::Watch& watch, health::Needs needs, std::string policy)
      : watch_(watch), needs_(std::move(needs)), policy_(std::move(policy)) {}
  // Of a case on the nodes of a launch; this machine is not watched then.
  WatchedCase(health::Watch& watch, SeatWatch nodes, std::string policy)
      : watch_(watch), policy_(std::move(policy)), nodes_(std::move(nodes)) {}
  WatchedCase(WatchedCase&& other) noexcept;
  ~WatchedCase() { drop(); }

  // Begins a try and drops one under way.
  void begin();
  // Ends the try; an interrupted one does not count. The watch covers the turns of others as well;
  // others: processes beside the case's own; stands_in: a later try that is ok is kept instead.
  void end(CaseEnd end, int others = 0, bool stands_in = false);
  bool tried() const { return !tries_.empty(); }
  // Announces the next try, "try 2 of 3, the last was wide"; nothing where none follows.
  std::optional<std::string> next_try() const;
  // The end of the kept try; nothing where none has ended.
  std::optional<CaseEnd> conclude();

 private:
  struct Try {
    CaseEnd end;
    nlohmann::json health;
    std::vector<store::Mark> marks;
    bool stands_in = false;
  };

  static std::string in_words(const Try& tried);
  static std::map<std::string, std::string> discarded_by(const Try& tried);
  void drop();
  SeatWatch::Seen seen_here(int others);

  health::Watch& watch_;
  health::Needs needs_;
  std::string policy_;
  std::optional<SeatWatch> nodes_;  // drops its own watches
  std::optional<health::Watch::Ticket> ticket_;
  std::vector<std::string> tries_;  // in words
  std::optional<Try> kept_;
  std::size_t kept_try_ = 0;
};

// The machine of a run and the watch over it. Make one a run: opening NVML takes a while.
class WatchedMachine {
 public:
  WatchedMachine();

  const Machine& machine() const { return machine_; }
  // job: on whose nodes the case runs; null: on this machine.
  WatchedCase watch(const ResolvedCase& resolved, RankJob* job = nullptr);

 private:
  std::shared_ptr<health::GpuSource> gpus_;
  std::shared_ptr<health::CpuSource> cpus_;
  Machine machine_;
  health::Watch watch_;
};

}  // namespace assay::run
