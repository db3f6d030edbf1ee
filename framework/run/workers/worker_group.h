#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/launch/job.h"
#include "run/process/host_memory.h"
#include "run/process/installation.h"
#include "run/process/interrupt.h"
#include "run/process/temporary_folder.h"
#include "run/workers/case_end.h"
#include "run/workers/left_files.h"
#include "run/workers/profiling_tool.h"
#include "run/workers/worker.h"
#include "wire/messages.h"

namespace assay::run {

// Receives the current activity: "verifying", a pass.
using ActivityListener = std::function<void(const std::string&)>;

// Worker processes, one a rank, that serve case after case together.
class WorkerGroup {
 public:
  // interrupt: stops the start as well; may be null. tool: what starts the workers, which then
  // end with their first case; may be null, and outlives the group.
  static Result<WorkerGroup> start(const Installation& installation, int world_size,
                                   Interrupt* interrupt = nullptr,
                                   const ProfilingTool* tool = nullptr);

  // On seats of a launch, which outlives the group.
  static Result<WorkerGroup> start_on(RankJob& job, std::vector<Seat> seats,
                                      Interrupt* interrupt = nullptr);

  WorkerGroup(WorkerGroup&&) = default;
  WorkerGroup& operator=(WorkerGroup&&) = default;
  ~WorkerGroup();

  int world_size() const { return static_cast<int>(workers_.size()); }
  const std::vector<Seat>& seats() const { return seats_; }  // none on this machine alone
  const store::Parameters& versions() const { return versions_; }
  // Whether all processes still run. Call between cases.
  bool alive();

  // Call begin(), then work(); for each turn it returns, give() and work(); then end(). Only the
  // time within work() counts towards the limit.
  void begin(const wire::CaseRequest& request, double time_limit_s);
  // Returns the turn that rank 0 wants once every rank waits for one; nothing once the case has
  // ended: all ranks have answered, the time is up, a rank has died or the user stops the run.
  // listener: told of rank 0's activity.
  std::optional<wire::TurnWanted> work(Interrupt& interrupt, const ActivityListener& listener);
  void give(const wire::Turn& turn);
  // interrupt: ends the wait for a tool's report.
  CaseEnd end(Interrupt& interrupt);

 private:
  using Clock = std::chrono::steady_clock;

  WorkerGroup() = default;

  // Nothing is measured where a node has other files than this host.
  bool refuse_other_files(const wire::CaseRequest& request);
  std::string name_of(std::size_t rank) const { return rank_name(rank, workers_.size()); }
  void send_to_all(const nlohmann::json& message);
  void wait_and_read(const Interrupt& interrupt, int limit_ms, const ActivityListener& listener);
  void take_messages(std::size_t rank, const ActivityListener& listener);
  void take(Worker& worker, const nlohmann::json& message);
  void look_for_death(std::size_t rank);
  // Of all workers; empty where agents watch over them.
  std::vector<pid_t> subreapers() const;
  void guard_memory();
  void look_back_at_memory();
  void ask_for_status();
  void conclude();
  void merge_facts(std::size_t rank);
  void store_output(std::size_t failed);
  bool any(bool (*is_so)(const Worker&)) const;

  struct Case {
    std::int64_t ordinal = 0;
    std::vector<std::string> passes;
    double time_limit_s = 0;
    double worked_s = 0;
    bool after_failure = false;
    bool observed = false;
    LeftFiles left;  // its folder is made by the first rank that leaves a file
    CaseEnd end;
    Clock::time_point next_look;  // at the memory
  };

  std::vector<Worker> workers_;
  store::Parameters versions_;
  MemoryGuard memory_guard_{std::nullopt};
  OutOfMemoryKills kills_;
  std::shared_ptr<TemporaryFolder> left_in_;
  const ProfilingTool* tool_ = nullptr;
  RankJob* job_ = nullptr;  // null on this machine alone
  std::vector<Seat> seats_;
  int cases_ = 0;  // begun
  Case case_;
};

}  // namespace assay::run
