#include "run/node/node_watch.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "health/summary.h"

namespace assay::run {

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

NodeWatch::NodeWatch()
    : NodeWatch(std::make_shared<health::CpuSource>(health::CpuSource::here()),
                std::make_shared<health::GpuSource>(health::GpuSource::here())) {}

NodeWatch::NodeWatch(std::shared_ptr<health::CpuSource> cpus,
                     std::shared_ptr<health::GpuSource> gpus)
    : cpus_(std::move(cpus)), gpus_(std::move(gpus)), watch_({gpus_, cpus_}) {}

// Agents change where the launcher was run again.
void NodeWatch::begin(const nlohmann::json& call) {
  if (auto agents = integers_at(call, "agents"); agents != agents_) {
    agents_ = std::move(agents);
    watch_.change([this] {
      cpus_->count_as_ours(agents_);
      gpus_->count_as_ours(agents_);
    });
  }
  open_[integer_at<int>(call, "call")] = watch_.begin(integers_at(call, "devices"));
}

void NodeWatch::drop(int number) {
  const auto open = open_.extract(number);
  if (!open.empty()) watch_.drop(open.mapped());
}

nlohmann::json NodeWatch::end(const nlohmann::json& call) {
  const auto open = open_.extract(integer_at<int>(call, "watch"));
  if (open.empty()) return {{"problem", "watches nothing of that number"}};
  const health::Observation seen = watch_.end(open.mapped());
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
