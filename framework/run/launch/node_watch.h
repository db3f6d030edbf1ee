#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "health/cpu_source.h"
#include "health/judge.h"

namespace assay::run {

// An agent's watch over its node's GPUs and cores, for its host.
class NodeWatch {
 public:
  // agents: pids of all the launch's agents on this node, whose families count as ours.
  explicit NodeWatch(std::vector<int> agents);

  // The answers to the host's calls `watch` and `watched`:
  // {"devices"} → {"ticket"};
  // {"ticket", "devices", "ranks", "processes"} → {"health", "marks": [{"mark", "reason"}, …]}.
  nlohmann::json begin(const nlohmann::json& call);
  nlohmann::json end(const nlohmann::json& call);

 private:
  explicit NodeWatch(std::shared_ptr<health::CpuSource> cpus, std::vector<int> agents);

  std::shared_ptr<health::CpuSource> cpus_;
  health::Watch watch_;
};

// The cores that so many ranks need: two each on GPUs, for the thread that launches and the one
// that runs backward; on the CPU as many as `threads` says (the text of OMP_NUM_THREADS; nullptr:
// not set), else all that they may use.
double cores_needed(int ranks, bool on_gpus, const health::CpuSource& cpus, const char* threads);

}  // namespace assay::run
