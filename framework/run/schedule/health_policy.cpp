#include "run/schedule/health_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/text.h"
#include "health/summary.h"

namespace assay::run {

namespace {

using nlohmann::json;
using Marks = std::vector<store::Mark>;

struct Try {
  CaseEnd end;
  json health;
  Marks marks;
};

Try judge(CaseEnd end, const health::Observation& observation, const health::Needs& needs) {
  Try one;
  one.end = std::move(end);
  one.health = health::to_json(observation);
  one.marks = health::judge(observation, needs);
  const Marks of_samples = health::judge_samples(one.end.series);
  one.marks.insert(one.marks.end(), of_samples.begin(), of_samples.end());
  return one;
}

Try measure(const Watched& watched) {
  const auto ticket = watched.watch.begin(watched.needs.devices);
  CaseEnd end = watched.execute();
  return judge(std::move(end), watched.watch.end(ticket), watched.needs);
}

// "throttled, wide"; of a try that failed its outcome.
std::string in_words(const Try& one) {
  if (one.end.outcome != Outcome::ok) return std::string(to_text(one.end.outcome));
  std::vector<std::string> words;
  for (const store::Mark& mark : one.marks) {
    if (std::find(words.begin(), words.end(), mark.mark) == words.end()) words.push_back(mark.mark);
  }
  return words.empty() ? "fit" : join(words, ", ");
}

// Whether a try is to be kept rather than the one before.
bool better(const Try& one, const Try& kept) {
  const bool ok = one.end.outcome == Outcome::ok;
  return ok && one.marks.size() < kept.marks.size();
}

// Pass to the word of its first mark: of marks of the whole case for every pass that was timed.
json discarded_by(const Try& one) {
  json passes = json::object();
  for (const store::Mark& mark : one.marks) {
    if (!mark.pass.empty() && !passes.contains(mark.pass)) passes[mark.pass] = mark.mark;
    for (const store::Series& series : one.end.series) {
      const bool timed = mark.pass.empty() && !series.clock.empty();
      if (timed && !passes.contains(series.pass)) passes[series.pass] = mark.mark;
    }
  }
  return passes;
}

// The end of the case, its context telling what was seen.
CaseEnd told(Try kept, const std::string& policy) {
  json& context = kept.end.context;
  context["health"] = std::move(kept.health);
  store::add_marks(context, kept.marks);
  if (policy == "discard" && kept.end.outcome == Outcome::ok && !kept.marks.empty()) {
    context["discarded"] = discarded_by(kept);
  }
  return std::move(kept.end);
}

}  // namespace

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
    needs.processes = processes_of(resolved);  // each may hold a context on any of them
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

CaseEnd execute_watched(const ResolvedCase& resolved, const Watched& watched) {
  if (resolved.skipped) return watched.execute();
  const std::string policy = store::text_of(resolved.request.parameters, "measure.unhealthy");
  Try kept = measure(watched);
  if (kept.end.outcome == Outcome::skipped || kept.end.interrupted) return std::move(kept.end);
  json tries = json::array({in_words(kept)});
  std::size_t kept_try = 1;
  while (policy == "retry" && kept.end.outcome == Outcome::ok && !kept.marks.empty() &&
         tries.size() < most_tries && !watched.stopping()) {
    watched.doing(fmt::format("try {} of {}, the last was {}", tries.size() + 1, most_tries,
                              tries.back().get<std::string>()));
    Try next = measure(watched);
    if (next.end.interrupted) break;
    tries.push_back(in_words(next));
    if (!better(next, kept)) continue;
    kept = std::move(next);
    kept_try = tries.size();
  }
  if (tries.size() > 1) {
    kept.health["tries"] = std::move(tries);
    kept.health["kept_try"] = kept_try;
  }
  return told(std::move(kept), policy);
}

WatchedMachine::WatchedMachine()
    : gpus_(std::make_shared<health::GpuSource>(health::GpuSource::here())),
      cpus_(std::make_shared<health::CpuSource>(health::CpuSource::here())),
      machine_(probe_machine(*gpus_, *cpus_)),
      watch_({gpus_, cpus_}) {}

CaseEnd WatchedMachine::execute(const ResolvedCase& resolved,
                                const std::function<CaseEnd()>& execute,
                                const std::function<void(const std::string&)>& doing,
                                const std::function<bool()>& stopping) {
  const health::Needs needs = needs_of(resolved, *cpus_, std::getenv("OMP_NUM_THREADS"));
  return execute_watched(resolved, {watch_, needs, execute, doing, stopping});
}

health::Watch::Ticket WatchedMachine::begin(const ResolvedCase& resolved) {
  return watch_.begin(needs_of(resolved, *cpus_, std::getenv("OMP_NUM_THREADS")).devices);
}

CaseEnd WatchedMachine::end(health::Watch::Ticket ticket, const ResolvedCase& resolved,
                            int processes_beside, CaseEnd end) {
  const health::Observation observation = watch_.end(ticket);
  if (end.outcome == Outcome::skipped) return end;
  health::Needs needs = needs_of(resolved, *cpus_, std::getenv("OMP_NUM_THREADS"));
  needs.processes += processes_beside;
  return told(judge(std::move(end), observation, needs),
              store::text_of(resolved.request.parameters, "measure.unhealthy"));
}

}  // namespace assay::run
