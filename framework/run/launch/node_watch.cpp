#include "run/launch/node_watch.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "health/gpu_source.h"
#include "health/summary.h"

namespace assay::run {

namespace {

std::shared_ptr<health::CpuSource> cores_for(const std::vector<int>& agents) {
  auto settings = health::CpuSource::here();
  settings.also = agents;
  return std::make_shared<health::CpuSource>(std::move(settings));
}

std::shared_ptr<health::GpuSource> gpus_for(const std::vector<int>& agents, int self) {
  auto settings = health::GpuSource::here();
  settings.processes = health::ProcessTable("/proc", self, agents);
  return std::make_shared<health::GpuSource>(settings);
}

}  // namespace

double cores_needed(int ranks, bool on_gpus, const health::CpuSource& cpus, const char* threads) {
  constexpr double cores_of_a_gpu_rank = 2;
  const double granted = std::min<double>(cpus.cores(), cpus.quota_cores());
  if (on_gpus) return std::min(granted, cores_of_a_gpu_rank * ranks);
  const std::string_view text = threads == nullptr ? "" : threads;
  int asked = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), asked);
  if (error != std::errc() || asked <= 0) return granted;
  return std::min(granted, static_cast<double>(asked) * ranks);
}

NodeWatch::NodeWatch(std::vector<int> agents) : NodeWatch(cores_for(agents), agents) {}

NodeWatch::NodeWatch(std::shared_ptr<health::CpuSource> cpus, std::vector<int> agents)
    : cpus_(std::move(cpus)), watch_({gpus_for(agents, health::CpuSource::here().self), cpus_}) {}

nlohmann::json NodeWatch::begin(const nlohmann::json& call) {
  return {{"ticket", watch_.begin(integers_at(call, "devices"))}};
}

nlohmann::json NodeWatch::end(const nlohmann::json& call) {
  const health::Observation seen = watch_.end(integer_at<health::Watch::Ticket>(call, "ticket"));
  health::Needs needs;
  needs.devices = integers_at(call, "devices");
  needs.processes = integer_at<int>(call, "processes");
  needs.cores_there = cpus_->cores();
  needs.cores = cores_needed(integer_at<int>(call, "ranks"), !needs.devices.empty(), *cpus_,
                             std::getenv("OMP_NUM_THREADS"));
  nlohmann::json marks = nlohmann::json::array();
  for (const store::Mark& mark : health::judge(seen, needs)) {
    marks.push_back({{"mark", mark.mark}, {"reason", mark.reason}});
  }
  return {{"health", health::to_json(seen)}, {"marks", std::move(marks)}};
}

}  // namespace assay::run
