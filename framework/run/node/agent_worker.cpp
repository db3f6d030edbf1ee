#include "run/node/agent_worker.h"

#include <algorithm>

#include "base/json.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<AgentWorker> AgentWorker::start(int number, Process::Command command, MemoryGuard guard) {
  auto rank = LocalRank::start(std::move(command));
  if (!rank) return tl::unexpected(rank.error());
  return AgentWorker(number, std::move(*rank), std::move(guard));
}

void AgentWorker::tell(wire::Channel& host) {
  if (told_end_) return;
  const bool ended = rank_.ended();
  std::string printed;
  rank_.read_output(printed);
  keep_tail(printed);
  if (!printed.empty()) {
    static_cast<void>(host.send(wire::to_json(wire::WorkerPrinted{number_, valid_utf8(printed)})));
  }
  if (asked_) answer(host);
  if (!ended) return;
  const ProcessEnd end = rank_.wait();
  static_cast<void>(host.send(
      wire::to_json(wire::WorkerEnded{number_, end.signalled, end.number, end.peak_memory_bytes,
                                      kills_.any(), stopped_, valid_utf8(rank_.cause())})));
  told_end_ = true;
}

void AgentWorker::ask(const wire::Asked& asked) {
  asked_ = asked;
  rank_.ask();
}

// A rank that hangs in a signal handler never answers: the host does not wait for long.
void AgentWorker::answer(wire::Channel& host) {
  if (!rank_.answered()) return;
  asked_->collectives = rank_.collectives().value_or(-1);
  static_cast<void>(host.send(wire::to_json(*asked_)));
  asked_.reset();
}

int AgentWorker::guard_memory() {
  if (told_end_) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(next_look_ - Clock::now()).count();
  const int soon = asked_ ? 2 : 1000;  // answers appear in shared memory
  if (left > 0) return std::min(soon, static_cast<int>(left));
  const auto subreaper = rank_.subreaper();
  const MemoryGuard::Look look = guard_.look({*subreaper});
  next_look_ = Clock::now() + std::chrono::milliseconds(look.next_ms);
  if (look.stop && stopped_.empty()) {
    stopped_ = *look.stop;
    rank_.kill();
  }
  return std::min(soon, look.next_ms);
}

}  // namespace assay::run
