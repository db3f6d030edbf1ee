#pragma once

// run/workers starts worker processes, talks to them and ends them. It depends on run/launch.
// Start here, then read worker_group.h: all ranks of a case.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "run/node/rank_process.h"
#include "store/records/intake.h"
#include "wire/messages.h"

namespace assay::run {

// One rank's worker process, as its host sees it.
class Worker {
 public:
  // Returns a worker of this machine that has not connected yet.
  static Result<Worker> start(Process::Command command);
  explicit Worker(std::unique_ptr<RankProcess> started) : process(std::move(started)) {}

  std::unique_ptr<RankProcess> process;  // never null
  wire::Channel channel;
  bool done = false;                       // with the case
  Status status;                           // where done
  store::CaseFacts facts;                  // of the case, as it reported them
  std::vector<store::Artefact> artefacts;  // of the case; `file` is relative to the rank's folder
  std::optional<wire::TurnWanted> wanted;  // the turn it waits for
  std::string activity;                    // last reported
  store::SeriesIntake intake;              // of its series of the case

  bool working() const { return !done && !wanted; }
  bool failed() const { return done && !status.ok(); }
  void begin_case();
  // The request with the folder and the time base of its node.
  wire::CaseRequest own(wire::CaseRequest request) const;
  void finish(Status with);
  void fail(Outcome outcome, std::string reason) { finish({outcome, std::move(reason)}); }
  std::chrono::steady_clock::time_point done_at() const { return done_at_; }

  // Reads what it has printed; never blocks.
  void read_output();
  // The end of what it printed during the case, at most 8 KiB.
  std::string output() const;
  // The last lines of output() in one, for a reason; "" where it printed nothing.
  std::string last_lines() const;
  // The end of a reason: the line of a failed device-side assertion, else the last lines printed.
  std::string last_words(const std::string& reason) const;

  // How its process ended; waits for that. kills: counted since its case began.
  Status death(const std::string& who, const OutOfMemoryKills& kills);
  // Notes that it closed its connection; it has a moment to end.
  void hang_up();
  bool hung_up() const { return hung_up_.has_value(); }
  bool silent_for(std::chrono::milliseconds time) const;

 private:
  std::string output_;
  std::chrono::steady_clock::time_point done_at_;
  std::optional<std::chrono::steady_clock::time_point> hung_up_;
};

// "rank 2"; "the worker" where there is only one rank.
std::string rank_name(std::size_t rank, std::size_t ranks);

}  // namespace assay::run
