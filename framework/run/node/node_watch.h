#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "health/cpu_source.h"
#include "health/gpu_source.h"
#include "health/judge.h"
#include "health/watch.h"

namespace assay::run {

// An agent's watch over its node's GPUs and cores, for its host.
class NodeWatch {
 public:
  // Of this machine. Opening NVML takes a while.
  NodeWatch();
  NodeWatch(std::shared_ptr<health::CpuSource> cpus, std::shared_ptr<health::GpuSource> gpus);

  // Begins the watch that the call's number names: {"call", "devices", "agents"}. agents: pids of
  // all the launch's agents on this node as of now, whose families count as ours.
  void begin(const nlohmann::json& call);
  // Ends the watch of that number: {"watch", "devices", "ranks", "processes"} →
  // {"health", "marks": [{"mark", "reason"}, …]}.
  nlohmann::json end(const nlohmann::json& call);
  // Ends it without a word.
  void drop(int number);

 private:
  std::shared_ptr<health::CpuSource> cpus_;
  std::shared_ptr<health::GpuSource> gpus_;
  health::Watch watch_;
  std::vector<int> agents_;
  std::map<int, health::Watch::Ticket> open_;  // by the numbers of their calls
};

// The cores that so many ranks need: two each on GPUs, for the thread that launches and the one
// that runs backward; on the CPU as many as `threads` says (the text of OMP_NUM_THREADS; nullptr:
// not set), else all that they may use.
double cores_needed(int ranks, bool on_gpus, const health::CpuSource& cpus, const char* threads);

}  // namespace assay::run
