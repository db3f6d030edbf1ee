#pragma once

#include <vector>

#include "run/workers/worker_group.h"

namespace assay::run {

// Idle worker groups.
class WorkerPool {
 public:
  // The ranks of a case.
  struct Wanted {
    int world_size = 1;
    int nodes = 1;
    bool on_cuda = false;
    bool operator==(const Wanted&) const = default;
  };

  // tool: starts each worker, which then serves one case; may be null.
  WorkerPool(const Installation& installation, Interrupt& interrupt,
             const ProfilingTool* tool = nullptr)
      : installation_(installation), interrupt_(interrupt), tool_(tool) {}

  // From now on the ranks of a launch, which outlives the pool.
  void use(RankJob& job) { job_ = &job; }
  // An idle group for the case unless `fresh`, else a new one.
  Result<WorkerGroup> take(const Wanted& wanted, bool fresh);
  // Ends it where workers serve one case.
  void add(WorkerGroup group) {
    if (tool_ == nullptr) groups_.push_back(std::move(group));
  }
  bool empty() const { return groups_.empty(); }
  // Ends the groups that cases with these ranks cannot use.
  void keep_for(std::vector<Wanted> cases);
  void clear() { groups_.clear(); }
  const Installation& installation() const { return installation_; }

 private:
  const Installation& installation_;
  Interrupt& interrupt_;
  const ProfilingTool* tool_;
  bool fits(const WorkerGroup& group, const Wanted& wanted) const;

  RankJob* job_ = nullptr;
  std::vector<WorkerGroup> groups_;
};

}  // namespace assay::run
