#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/workers/host_memory.h"
#include "run/workers/installation.h"
#include "run/workers/interrupt.h"
#include "run/workers/worker.h"
#include "wire/messages.h"

namespace assay::run {

// Told what is worked on: a pass, what a worker does.
using Doing = std::function<void(const std::string&)>;

// How a case ended for all of its ranks.
struct CaseEnd {
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::vector<store::Series> series;
  bool reusable = false;     // the workers may take another case
  bool interrupted = false;  // stopped by the user: not a result
  store::CaseFacts facts;

  // nullptr where there is none.
  const store::Series* find(const std::string& pass, const std::string& metric) const;
};

// The worker processes of one case, one a rank, which serve case after case.
class WorkerGroup {
 public:
  // interrupt: the user may stop the start as well; null: not.
  static Result<WorkerGroup> start(const Installation& installation, int world_size,
                                   Interrupt* interrupt = nullptr);

  WorkerGroup(WorkerGroup&&) = default;
  WorkerGroup& operator=(WorkerGroup&&) = default;
  ~WorkerGroup();

  int world_size() const { return static_cast<int>(workers_.size()); }
  const store::Parameters& versions() const { return versions_; }
  // Whether all of its processes still run; between cases one may have been ended by others.
  bool alive();

  // begin() sends the case to every rank; then work() and, for each turn wanted, give() and work(),
  // until nothing is wanted; then end(). A case that takes no turns wants none. Only the time
  // within work() counts towards the limit.
  void begin(const wire::CaseRequest& request, double time_limit_s);
  // Until every rank waits for its turn, which gives what rank 0 wants, or the case has ended: all
  // have answered, the time is up, one has died or the user wants to stop now. `doing` is told what
  // rank 0 does.
  std::optional<wire::TurnWanted> work(Interrupt& interrupt, const Doing& doing);
  void give(const wire::Turn& turn);
  CaseEnd end();

 private:
  using Clock = std::chrono::steady_clock;

  WorkerGroup() = default;

  std::string name_of(std::size_t rank) const;
  void send_to_all(const nlohmann::json& message);
  void wait_and_read(const Interrupt& interrupt, int limit_ms, const Doing& doing);
  void take_messages(std::size_t rank, const Doing& doing);
  void take(Worker& worker, const nlohmann::json& message);
  void look_for_death(std::size_t rank);
  void guard_memory();
  void ask_where_they_are();
  void conclude();
  void merge_facts(std::size_t rank);
  void tell_output(std::size_t told);
  void drop_echoes(std::size_t rank);
  void drop_incomplete_passes();
  bool any(bool (*is_so)(const Worker&)) const;

  // The case under way.
  struct Case {
    std::int64_t ordinal = 0;
    double time_limit_s = 0;
    double worked_s = 0;
    bool after_failure = false;
    CaseEnd end;
    Clock::time_point next_look;  // at the memory
  };

  std::vector<Worker> workers_;
  store::Parameters versions_;
  MemoryGuard memory_guard_{std::nullopt};
  OutOfMemoryKills kills_;
  Case case_;
};

}  // namespace assay::run
