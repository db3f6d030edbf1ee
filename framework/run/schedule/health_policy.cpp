#include "run/schedule/health_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/text.h"
#include "health/summary.h"

namespace assay::run {

int processes_of(const ResolvedCase& resolved) {
  return world_size_of(resolved) + (resolved.external != nullptr ? 1 : 0);
}

health::Needs needs_of(const ResolvedCase& resolved, const health::CpuSource& cpus,
                       const char* threads) {
  constexpr double cores_of_a_gpu_rank = 2;
  health::Needs needs;
  const int ranks = world_size_of(resolved);
  needs.cores_there = cpus.cores();
  const double granted = std::min(needs.cores_there, cpus.quota_cores());
  if (store::text_of(resolved.request.parameters, "device") == "cuda") {
    for (int device = 0; device < ranks; ++device) needs.devices.push_back(device);
    needs.processes = processes_of(resolved);  // each may hold a context on any device
    needs.cores = std::min(granted, cores_of_a_gpu_rank * ranks);
    return needs;
  }
  needs.cores = granted;
  const std::string_view text = threads == nullptr ? "" : threads;
  int asked = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), asked);
  if (error == std::errc() && asked > 0) {
    needs.cores = std::min(granted, static_cast<double>(asked) * ranks);
  }
  return needs;
}

WatchedCase::WatchedCase(WatchedCase&& other) noexcept
    : watch_(other.watch_),
      needs_(std::move(other.needs_)),
      policy_(std::move(other.policy_)),
      ticket_(std::exchange(other.ticket_, std::nullopt)),
      tries_(std::move(other.tries_)),
      kept_(std::move(other.kept_)),
      kept_try_(other.kept_try_) {}

void WatchedCase::drop() {
  if (const auto ticket = std::exchange(ticket_, std::nullopt)) watch_.end(*ticket);
}

void WatchedCase::begin() {
  drop();
  ticket_ = watch_.begin(needs_.devices);
}

void WatchedCase::end(CaseEnd end, int others) {
  const health::Observation seen = watch_.end(*std::exchange(ticket_, std::nullopt));
  if (end.interrupted) return;
  health::Needs needs = needs_;
  needs.processes += others;
  Try tried = {std::move(end), health::to_json(seen), health::judge(seen, needs)};
  const auto of_samples = health::judge_samples(tried.end.series);
  tried.marks.insert(tried.marks.end(), of_samples.begin(), of_samples.end());
  tries_.push_back(in_words(tried));
  const bool better =
      !kept_ || (tried.end.outcome == Outcome::ok && tried.marks.size() < kept_->marks.size());
  if (!better) return;
  kept_ = std::move(tried);
  kept_try_ = tries_.size();
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

WatchedCase WatchedMachine::watch(const ResolvedCase& resolved) {
  return {watch_, needs_of(resolved, *cpus_, std::getenv("OMP_NUM_THREADS")),
          store::text_of(resolved.request.parameters, "measure.unhealthy")};
}

}  // namespace assay::run
