#pragma once

#include <vector>

#include "run/workers/worker_group.h"

namespace assay::run {

// Idle worker groups.
class WorkerPool {
 public:
  // tool: starts each worker, which then serves one case; may be null.
  WorkerPool(const Installation& installation, Interrupt& interrupt,
             const ProfilingTool* tool = nullptr)
      : installation_(installation), interrupt_(interrupt), tool_(tool) {}

  // An idle group of that many ranks unless `fresh`, else a new one.
  Result<WorkerGroup> take(int world_size, bool fresh);
  // Ends it where workers serve one case.
  void add(WorkerGroup group) {
    if (tool_ == nullptr) groups_.push_back(std::move(group));
  }
  bool empty() const { return groups_.empty(); }
  // Ends the groups that cases with these numbers of ranks cannot use.
  void keep_for(std::vector<int> world_sizes);
  void clear() { groups_.clear(); }
  const Installation& installation() const { return installation_; }

 private:
  const Installation& installation_;
  Interrupt& interrupt_;
  const ProfilingTool* tool_;
  std::vector<WorkerGroup> groups_;
};

}  // namespace assay::run
