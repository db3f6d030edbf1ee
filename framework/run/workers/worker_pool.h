#pragma once

#include <vector>

#include "run/workers/worker_group.h"

namespace assay::run {

// Idle worker groups that wait for their next cases.
class WorkerPool {
 public:
  // interrupt: the user may stop the start of a new one.
  WorkerPool(const Installation& installation, Interrupt& interrupt)
      : installation_(installation), interrupt_(interrupt) {}

  // An idle group of so many ranks, else, or where it is to be `fresh`, a new one.
  Result<WorkerGroup> take(int world_size, bool fresh);
  void add(WorkerGroup group) { groups_.push_back(std::move(group)); }
  bool empty() const { return groups_.empty(); }
  // Ends those that cases of so many ranks each have no use for.
  void keep_for(std::vector<int> world_sizes);
  // Ends them.
  void clear() { groups_.clear(); }
  const Installation& installation() const { return installation_; }

 private:
  const Installation& installation_;
  Interrupt& interrupt_;
  std::vector<WorkerGroup> groups_;
};

}  // namespace assay::run
