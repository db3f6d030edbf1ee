#include "cli/time_by_counts.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/ceilings.h"
#include "expression/count_formula.h"
#include "run/cases/case_names.h"
#include "statistics/summary.h"

namespace assay::cli {

namespace {

constexpr std::string_view bounding_counts[] = {"flops", "bytes", "bus_bytes"};

Value value_in_case(const catalogue::PluginInfo& workload, const wire::CaseRequest& request,
                    const std::string& name) {
  if (name == "element_size") {
    return run::element_size_of(store::text_of(request.parameters, "precision"));
  }
  const auto own = request.parameters.find(name);
  if (own != request.parameters.end()) return own->second;
  for (const auto& [preset, fields] : request.presets) {
    const auto field = fields.find(name);
    if (field != fields.end()) return field->second;
  }
  return run::left_out_default(workload, name);
}

}  // namespace

std::optional<double> TimeByCounts::call_s(const catalogue::PluginInfo& workload,
                                           const wire::CaseRequest& request,
                                           const std::string& pass) const {
  // Before each call of a backward its forward runs, untimed.
  const std::string run_pass = pass == "backward" ? "forward_backward" : pass;
  std::optional<double> longest;
  for (const MetricInfo& metric : workload.metrics) {
    if (std::ranges::count(bounding_counts, metric.name) == 0) continue;
    const auto count = counted_by_formula(metric.formula, run_pass, [&](const std::string& name) {
      return value_in_case(workload, request, name);
    });
    const auto name = report::ceiling_meant("auto", metric.name, pass, request.parameters);
    const report::Ceiling* ceiling = name ? ceilings_.find(*name, request.parameters) : nullptr;
    if (!count || ceiling == nullptr || !(ceiling->value > 0)) return std::nullopt;
    longest = std::max(longest.value_or(0), *count / ceiling->value);
  }
  return longest;
}

std::optional<double> TimeByCounts::seconds(const run::ResolvedCase& resolved) const {
  const wire::CaseRequest& request = resolved.request;
  const auto* workload =
      catalogue_.find("workload", store::text_of(request.parameters, "workload"));
  if (workload == nullptr || resolved.skipped) return std::nullopt;
  const double calls = calls_of_pass(
      request.parameters, store::integer_of(request.parameters, "measure.min_samples", 1));
  double seconds = beside_s_;
  for (const std::string& pass : request.passes) {
    if (std::ranges::count(resolved.unclocked, pass) > 0) return std::nullopt;
    const auto call = call_s(*workload, request, pass);
    if (!call) return std::nullopt;
    seconds += calls * *call;
  }
  const double limit_s = resolved.time_limit_s;  // then the case is stopped
  return limit_s > 0 ? std::min(seconds, limit_s) : seconds;
}

double seconds_beside_calls(const store::Run& run) {
  std::vector<double> beside;
  for (const store::CaseResult& result : run.cases) {
    if (!(result.wall_s > 0) || result.outcome != Outcome::ok) continue;
    beside.push_back(std::max(result.wall_s - seconds_in_calls(result), 0.0));
  }
  return beside.empty() ? 0 : statistics::summarise(beside).median;
}

std::optional<TimeByCounts> time_by_counts(const catalogue::Catalogue& catalogue,
                                           store::Database& database,
                                           const nlohmann::json& machine) {
  auto ceilings = ceilings_of_machine(database, machine);
  if (!ceilings || ceilings->empty()) return std::nullopt;
  const auto newest = database.latest_run();
  const auto run =
      newest && *newest ? database.load_run(**newest) : Result<store::Run>(tl::unexpected(Error{}));
  return TimeByCounts(catalogue, std::move(*ceilings), run ? seconds_beside_calls(*run) : 0);
}

KnownTimes known_times(const catalogue::Catalogue& catalogue, store::Database& database,
                       const run::Machine& machine) {
  KnownTimes times;
  times.measured = [&database](const std::vector<std::string>& keys) {
    return database.wall_times(keys).value_or(std::map<std::string, double>());
  };
  using Counts = std::optional<TimeByCounts>;
  times.at_least = [&, facts = run::to_json(machine),
                    read = std::make_shared<std::optional<Counts>>()](
                       const run::ResolvedCase& resolved) -> std::optional<double> {
    if (!*read) read->emplace(time_by_counts(catalogue, database, facts));
    const Counts& counts = **read;
    return counts ? counts->seconds(resolved) : std::nullopt;
  };
  return times;
}

}  // namespace assay::cli
