#include "run/schedule/health_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "health/summary.h"
#include "run/node/node_watch.h"

namespace assay::run {

int processes_of(const ResolvedCase& resolved) {
  return world_size_of(resolved) + (resolved.external != nullptr ? 1 : 0);
}

health::Needs needs_of(const ResolvedCase& resolved, const health::CpuSource& cpus,
                       const char* threads) {
  health::Needs needs;
  const int ranks = world_size_of(resolved);
  const bool on_cuda = store::text_of(resolved.request.parameters, "device") == "cuda";
  needs.cores_there = cpus.cores();
  needs.ranks = ranks;
  needs.cores = cores_needed(ranks, on_cuda, cpus, threads);
  if (!on_cuda) return needs;
  for (int device = 0; device < ranks; ++device) needs.devices.push_back(device);
  needs.processes = processes_of(resolved);  // each may hold a context on any device
  return needs;
}

WatchedCase::WatchedCase(WatchedCase&& other) noexcept
    : watch_(other.watch_),
      needs_(std::move(other.needs_)),
      policy_(std::move(other.policy_)),
      nodes_(std::move(other.nodes_)),
      ticket_(std::exchange(other.ticket_, std::nullopt)),
      tries_(std::move(other.tries_)),
      kept_(std::move(other.kept_)),
      kept_try_(other.kept_try_) {}

void WatchedCase::drop() {
  if (const auto ticket = std::exchange(ticket_, std::nullopt)) watch_.drop(*ticket);
}

void WatchedCase::begin() {
  drop();
  if (nodes_) {
    nodes_->begin();
  } else {
    ticket_ = watch_.begin(needs_.devices);
  }
}

void WatchedCase::end(CaseEnd end, int others, bool stands_in) {
  SeatWatch::Seen seen = nodes_ ? nodes_->end(others) : seen_here(others);
  if (end.interrupted) return;
  Try tried = {std::move(end), std::move(seen.health), std::move(seen.marks), stands_in};
  const auto of_samples = health::judge_samples(tried.end.series);
  tried.marks.insert(tried.marks.end(), of_samples.begin(), of_samples.end());
  tries_.push_back(in_words(tried));
  const bool better = !kept_ || (tried.end.outcome == Outcome::ok &&
                                 (kept_->stands_in || tried.marks.size() < kept_->marks.size()));
  if (!better) return;
  kept_ = std::move(tried);
  kept_try_ = tries_.size();
}

SeatWatch::Seen WatchedCase::seen_here(int others) {
  const health::Observation seen = watch_.end(*std::exchange(ticket_, std::nullopt));
  health::Needs needs = needs_;
  needs.processes += others;
  return {health::to_json(seen), health::judge(seen, needs)};
}

std::optional<std::string> WatchedCase::next_try() const {
  const bool unhealthy = kept_ && kept_->end.outcome == Outcome::ok && !kept_->marks.empty();
  if (policy_ != "retry" || !unhealthy || tries_.size() >= most_tries) return std::nullopt;
  return fmt::format("try {} of {}, the last was {}", tries_.size() + 1, most_tries, tries_.back());
}

std::optional<CaseEnd> WatchedCase::conclude() {
  if (!kept_) return std::nullopt;
  Try kept = *std::exchange(kept_, std::nullopt);
  if (kept.end.outcome == Outcome::skipped) return std::move(kept.end);
  if (tries_.size() > 1) {
    kept.health["tries"] = std::move(tries_);
    kept.health["kept_try"] = kept_try_;
  }
  store::CaseFacts& facts = kept.end.facts;
  facts.health = std::move(kept.health);
  facts.marks.insert(facts.marks.end(), kept.marks.begin(), kept.marks.end());
  // Not among the marks of a try: the next one would be no better.
  if (!nodes_ && needs_.ranks > needs_.cores_there) {
    facts.marks.push_back({"crowded", "",
                           fmt::format("{} ranks share {} core{}", needs_.ranks, needs_.cores_there,
                                       needs_.cores_there == 1 ? "" : "s")});
  }
  if (policy_ == "discard" && kept.end.outcome == Outcome::ok && !kept.marks.empty()) {
    facts.discarded = discarded_by(kept);
  }
  return std::move(kept.end);
}

// "throttled, wide"; the outcome of a failed try.
std::string WatchedCase::in_words(const Try& tried) {
  if (tried.end.outcome != Outcome::ok) return std::string(to_text(tried.end.outcome));
  std::vector<std::string> words;
  for (const store::Mark& mark : tried.marks) {
    if (std::find(words.begin(), words.end(), mark.mark) == words.end()) words.push_back(mark.mark);
  }
  return words.empty() ? "fit" : join(words, ", ");
}

// Each discarded pass with its first mark. A mark of the whole case discards every timed pass.
std::map<std::string, std::string> WatchedCase::discarded_by(const Try& tried) {
  std::map<std::string, std::string> passes;
  for (const store::Mark& mark : tried.marks) {
    if (!mark.pass.empty()) passes.try_emplace(mark.pass, mark.mark);
    for (const store::Series& series : tried.end.series) {
      const bool timed = mark.pass.empty() && !series.clock.empty();
      if (timed) passes.try_emplace(series.pass, mark.mark);
    }
  }
  return passes;
}

WatchedMachine::WatchedMachine()
    : gpus_(std::make_shared<health::GpuSource>(health::GpuSource::here())),
      cpus_(std::make_shared<health::CpuSource>(health::CpuSource::here())),
      machine_(probe_machine(*gpus_, *cpus_)),
      watch_({gpus_, cpus_}) {}

WatchedCase WatchedMachine::watch(const ResolvedCase& resolved, RankJob* job) {
  const store::Parameters& parameters = resolved.request.parameters;
  std::string policy = store::text_of(parameters, "measure.unhealthy");
  if (job == nullptr) {
    return {watch_, needs_of(resolved, *cpus_, std::getenv("OMP_NUM_THREADS")), std::move(policy)};
  }
  const bool on_cuda = store::text_of(parameters, "device") == "cuda";
  const auto nodes = static_cast<int>(store::integer_of(parameters, "nodes", 1));
  return {watch_, SeatWatch(*job, world_size_of(resolved), nodes, on_cuda), std::move(policy)};
}

}  // namespace assay::run
