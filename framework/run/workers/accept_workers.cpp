#include "run/workers/accept_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/clock_duration.h"
#include "base/text.h"
#include "run/node/rank_process.h"
#include "run/process/loading.h"
#include "wire/arrivals.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;

class Acceptance {
 public:
  Acceptance(wire::Listener& listener, const std::string& token, std::vector<Worker>& workers,
             Interrupt* interrupt)
      : arrivals_(listener), token_(token), workers_(workers), interrupt_(interrupt) {}

  Result<store::Parameters> run() {
    const auto bounds = bounds_of_loading();
    if (!bounds) return tl::unexpected(bounds.error());
    const auto limit = Clock::now() + clock_duration(bounds->time.count());
    while (missing()) {
      if (Clock::now() > limit) {
        return fail(ExitCode::machine_lacks,
                    fmt::format("{} did not start within {}", missing_in_words(),
                                human_duration(bounds->time.count())),
                    fmt::format("{}='10 min' gives a slow machine longer", load_timeout_variable));
      }
      if (interrupt_ != nullptr) {
        interrupt_->update();
        if (interrupt_->stop_now()) {
          return stopped_by_user("the workers started");
        }
      }
      const auto next_look = within_memory(bounds->memory, workers_);
      if (!next_look) return tl::unexpected(next_look.error());
      wait(*next_look);
      for (Worker& worker : workers_) worker.read_output();
      if (auto taken = take_arrivals(); !taken) return tl::unexpected(taken.error());
      if (auto alive = look_for_deaths(); !alive) return tl::unexpected(alive.error());
    }
    return std::move(versions_);
  }

 private:
  bool missing() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return !worker.channel.open(); });
  }

  std::string missing_in_words() const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      if (!workers_[rank].channel.open()) ranks.push_back(rank);
    }
    return workers_.size() > 1 ? ranks_in_words(ranks) : "the worker";
  }

  void wait(std::chrono::milliseconds longest) {
    std::vector<pollfd> watched;
    arrivals_.watch(watched);
    if (interrupt_ != nullptr) watched.push_back({interrupt_->descriptor(), POLLIN, 0});
    for (Worker& worker : workers_) {
      worker.process->watch(watched);
    }
    ::poll(watched.data(), watched.size(), static_cast<int>(longest.count()));
  }

  Result<void> take_arrivals() {
    auto arrived = arrivals_.take();
    if (!arrived) return tl::unexpected(arrived.error());
    for (auto& [channel, message] : *arrived) {
      if (auto admitted = admit(std::move(channel), message); !admitted) return admitted;
    }
    return {};
  }

  // Drops connections without the token.
  Result<void> admit(wire::Channel channel, const nlohmann::json& message) {
    const auto hello = wire::hello_from_json(message);
    if (!hello || hello->token != token_) return {};
    const auto rank = static_cast<std::size_t>(hello->rank);
    if (rank >= workers_.size() || workers_[rank].channel.open()) {
      return fail(ExitCode::machine_lacks, fmt::format("two workers say they are rank {}", rank));
    }
    workers_[rank].channel = std::move(channel);
    workers_[rank].channel.expect_signed(token_);
    if (rank == 0) versions_ = hello->versions;
    return {};
  }

  Result<void> look_for_deaths() {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      Worker& worker = workers_[rank];
      if (worker.channel.open() || !worker.process->ended()) continue;
      const std::string who = rank_name(rank, workers_.size());
      return fail(ExitCode::machine_lacks,
                  "a worker could not start: " + worker.death(who, kills_).reason,
                  "`assay doctor` says what is missing");
    }
    return {};
  }

  wire::Arrivals arrivals_;
  const std::string& token_;
  std::vector<Worker>& workers_;
  Interrupt* interrupt_;
  store::Parameters versions_;
  OutOfMemoryKills kills_;
};

}  // namespace

Result<std::chrono::milliseconds> within_memory(const MemoryGuard& guard,
                                                const std::vector<Worker>& workers) {
  std::vector<pid_t> subreapers;
  for (const Worker& worker : workers) {
    if (const auto pid = worker.process->subreaper()) subreapers.push_back(*pid);
  }
  constexpr std::chrono::milliseconds without_looks(1000);  // their agents look, if they are any
  if (subreapers.empty()) return without_looks;
  const MemoryGuard::Look look = guard.look(subreapers);
  if (!look.stop) return std::chrono::milliseconds(look.next_ms);
  return fail(ExitCode::machine_lacks, fmt::format("{}, while {} started", *look.stop,
                                                   counted(workers.size(), "worker", "workers")));
}

Result<store::Parameters> accept_workers(wire::Listener& listener, const std::string& token,
                                         std::vector<Worker>& workers, Interrupt* interrupt) {
  return Acceptance(listener, token, workers, interrupt).run();
}

}  // namespace assay::run
