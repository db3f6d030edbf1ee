#pragma once

#include <chrono>

#include "run/node/local_rank.h"
#include "run/process/host_memory.h"
#include "wire/agent_messages.h"

namespace assay::run {

// A worker that an agent runs for its host.
class AgentWorker {
 public:
  // Its share of the memory limit is that of so many ranks on this node.
  static Result<AgentWorker> start(int number, Process::Command command, MemoryGuard guard);

  int number() const { return number_; }
  void watch(std::vector<pollfd>& watched) const { rank_.watch(watched); }
  // Tells the host what it has printed and, once, that it has ended.
  void tell(wire::Channel& host);
  // Milliseconds to the next look at its memory; -1 once it has ended.
  int guard_memory();
  void ask(const wire::Asked& asked);
  void kill() { rank_.kill(); }
  bool over() const { return told_end_; }

 private:
  AgentWorker(int number, LocalRank rank, MemoryGuard guard)
      : number_(number), rank_(std::move(rank)), guard_(std::move(guard)) {}
  void answer(wire::Channel& host);

  int number_;
  LocalRank rank_;
  MemoryGuard guard_;
  OutOfMemoryKills kills_;
  std::string stopped_;
  bool told_end_ = false;
  std::optional<wire::Asked> asked_;
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace assay::run
