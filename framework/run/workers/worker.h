#pragma once

// run/workers starts worker processes, talks to them and ends them, with what they need from the
// machine. It depends on wire and health. Start here, then worker_group.h, which is all ranks of a
// case.

#include <chrono>
#include <optional>
#include <string>

#include "run/workers/host_memory.h"
#include "run/workers/process.h"
#include "wire/messages.h"
#include "wire/status_page.h"

namespace assay::run {

// One rank's worker process, as its host sees it.
class Worker {
 public:
  // Started, not yet connected.
  static Result<Worker> start(Process::Command command);

  Process process;
  wire::Channel channel;
  bool done = false;                       // with the case
  Status status;                           // then
  store::CaseFacts facts;                  // what it told of the case
  std::optional<wire::TurnWanted> wanted;  // it waits for its turn
  std::string doing;                       // what it told last that it does

  bool working() const { return !done && !wanted; }
  bool failed() const { return done && !status.ok(); }
  // Forgets the last case.
  void begin_case();
  void finish(Status with);
  void fail(Outcome outcome, std::string reason) { finish({outcome, std::move(reason)}); }
  std::chrono::steady_clock::time_point done_at() const { return done_at_; }

  // Takes up what it has printed, without blocking.
  void read_output();
  // The last of what it printed during the case, at most 8 KiB of text.
  std::string output() const;
  // The last lines of it in one, for a reason; "" where it printed nothing.
  std::string last_lines() const;

  // How its process ended. It must have. `kills`: counted since its case began.
  Status death(const std::string& who, const OutOfMemoryKills& kills);
  // Its end of the connection is closed; it is given a moment to end.
  void hang_up();
  bool hung_up() const { return hung_up_.has_value(); }
  bool silent_for(std::chrono::milliseconds time) const;

  wire::StatusPage* page() const { return status_page_.page(); }
  // How many collectives it had begun when it was last asked, unless it has not answered.
  std::optional<std::int64_t> collectives() const;

 private:
  wire::SharedStatus status_page_;
  std::string output_;
  std::chrono::steady_clock::time_point done_at_;
  std::optional<std::chrono::steady_clock::time_point> hung_up_;
};

// Text of any bytes as it can be shown and stored: what is no UTF-8 and what moves a cursor is
// replaced.
std::string printable(std::string_view text);

}  // namespace assay::run
