#include "run/workers/worker_pool.h"

#include <algorithm>

namespace assay::run {

Result<WorkerGroup> WorkerPool::take(int world_size, bool fresh) {
  std::erase_if(groups_, [](WorkerGroup& group) { return !group.alive(); });
  const auto idle = std::find_if(groups_.begin(), groups_.end(), [&](const WorkerGroup& group) {
    return group.world_size() == world_size;
  });
  if (fresh || idle == groups_.end())
    return WorkerGroup::start(installation_, world_size, &interrupt_, tool_);
  WorkerGroup group = std::move(*idle);
  groups_.erase(idle);
  return group;
}

void WorkerPool::keep_for(std::vector<int> world_sizes) {
  std::erase_if(groups_, [&](const WorkerGroup& group) {
    const auto use = std::find(world_sizes.begin(), world_sizes.end(), group.world_size());
    if (use == world_sizes.end()) return true;
    world_sizes.erase(use);
    return false;
  });
}

}  // namespace assay::run
