#include "run/schedule/launch.h"

#include <algorithm>

#include "store/records/marks.h"

namespace assay::run {

Work work_of(const RunRequest& request, const Machine& machine) {
  if (request.chapters.empty()) {
    return {request.catalogue, machine, request.allow_external, request.experiment, request.plan};
  }
  return {request.catalogue, machine, request.allow_external, request.chapters};
}

LaunchSize needed_size(const Work& work) {
  LaunchSize size;
  for (std::size_t item = 0; item < work.size(); ++item) {
    if (!work.chosen(item)) continue;
    const ResolvedCase resolved = work.resolved(item);
    const auto nodes = static_cast<int>(store::integer_of(resolved.request.parameters, "nodes", 1));
    size.nodes = std::max(size.nodes, nodes);
    size.ranks_per_node =
        std::max(size.ranks_per_node, (world_size_of(resolved) + nodes - 1) / nodes);
  }
  return size;
}

Result<Launched> launch(const RunRequest& request, const Machine& host, Interrupt& interrupt,
                        Observer& observer) {
  if (!request.launch) return Launched{nullptr, host};
  const auto size = size_of(*request.launch, needed_size(work_of(request, host)), own_variables());
  if (!size) return tl::unexpected(size.error());
  auto job = RankJob::start(request.installation, *request.launch, *size, &interrupt,
                            [&](const std::string& text) { observer.told(text); });
  if (!job) return tl::unexpected(job.error());
  Machine machine = machine_from_json((*job)->places().front().machine);
  machine.no_place = [&started = **job](int world_size, int nodes,
                                        bool on_cuda) -> std::optional<std::string> {
    Seats seats = started.seats(world_size, nodes, on_cuda);
    if (seats.impossible.empty()) return std::nullopt;
    return std::move(seats.impossible);
  };
  return Launched{std::move(*job), std::move(machine)};
}

nlohmann::json machine_of_session(const Launched& launched) {
  nlohmann::json machine = to_json(launched.machine);
  if (launched.job == nullptr) return machine;
  nlohmann::json nodes = nlohmann::json::array();
  for (const LaunchNode& node : launched.job->nodes().all) {
    nodes.push_back({{"name", node.name},
                     {"ranks", node.ranks},
                     {"machine", launched.job->places()[node.ranks.front()].machine}});
  }
  machine["nodes"] = std::move(nodes);
  machine["engine"] = launched.job->engine();
  if (const std::string& why = launched.job->nodes().simulated; !why.empty()) {
    machine["simulated_nodes"] = why;
  }
  return machine;
}

void mark_simulated_nodes(const Launched& launched, const ResolvedCase& resolved, CaseEnd& end) {
  if (launched.job == nullptr || end.outcome == Outcome::skipped) return;
  if (store::integer_of(resolved.request.parameters, "nodes", 1) < 2) return;
  const std::string& why = launched.job->nodes().simulated;
  if (!why.empty()) end.facts.marks.push_back({store::simulated_nodes, "", why});
}

}  // namespace assay::run
