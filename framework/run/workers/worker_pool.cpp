#include "run/workers/worker_pool.h"

#include <algorithm>

namespace assay::run {

bool WorkerPool::fits(const WorkerGroup& group, const Wanted& wanted) const {
  if (group.world_size() != wanted.world_size) return false;
  return job_ == nullptr ||
         job_->seats(wanted.world_size, wanted.nodes, wanted.on_cuda).all == group.seats();
}

Result<WorkerGroup> WorkerPool::take(const Wanted& wanted, bool fresh) {
  std::erase_if(groups_, [](WorkerGroup& group) { return !group.alive(); });
  const auto idle = std::find_if(groups_.begin(), groups_.end(),
                                 [&](const WorkerGroup& group) { return fits(group, wanted); });
  if (!fresh && idle != groups_.end()) {
    WorkerGroup group = std::move(*idle);
    groups_.erase(idle);
    return group;
  }
  if (job_ == nullptr) {
    return WorkerGroup::start(installation_, wanted.world_size, &interrupt_, tool_);
  }
  Seats seats = job_->seats(wanted.world_size, wanted.nodes, wanted.on_cuda);
  if (!seats.impossible.empty()) return fail(ExitCode::machine_lacks, seats.impossible);
  return WorkerGroup::start_on(*job_, std::move(seats.all), &interrupt_);
}

void WorkerPool::keep_for(std::vector<Wanted> cases) {
  std::erase_if(groups_, [&](const WorkerGroup& group) {
    const auto use = std::find_if(cases.begin(), cases.end(),
                                  [&](const Wanted& wanted) { return fits(group, wanted); });
    if (use == cases.end()) return true;
    cases.erase(use);
    return false;
  });
}

}  // namespace assay::run
