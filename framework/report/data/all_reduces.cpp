#include "report/data/all_reduces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "report/data/ceilings.h"
#include "report/data/reduce.h"
#include "statistics/line_fit.h"
#include "store/records/marks.h"

namespace assay::report {
namespace {

constexpr std::size_t least_sizes = 3;

// nullopt where a rank failed or was discarded.
std::optional<double> time_of_call(const store::CaseResult& result) {
  const auto time = of_slowest_rank(result, "all_reduce", "time", "", Statistic::median);
  if (!time || !(*time > 0)) return std::nullopt;
  return *time / calls_per_sample(result.parameters);
}

AllReduces of_kind(const store::Parameters& of_case) {
  AllReduces one;
  one.backend = store::text_of(of_case, "backend");
  one.device = store::text_of(of_case, "device");
  one.ranks = store::integer_of(of_case, "world_size", 1);
  one.nodes = store::integer_of(of_case, "nodes", 1);
  one.layer = store::text_of(of_case, "layer");
  return one;
}

// How far it is from what training does: the least is taken.
auto distance(const AllReduces& one, const store::Parameters& of_case) {
  constexpr std::array layers = {"c10d_async", "c10d", "", "nccl"};
  const auto layer = std::ranges::find(layers, one.layer) - layers.begin();
  const bool apart = store::text_of(of_case, "placement") == "out_of_place";
  const std::string dtype = store::text_of(of_case, "dtype");
  return std::tuple(layer, apart, !dtype.empty() && dtype != "fp32", -std::ssize(one.times));
}

}  // namespace

bool AllReduces::is_alike(const AllReduces& other) const {
  return backend == other.backend && device == other.device && ranks == other.ranks &&
         nodes == other.nodes;
}

std::vector<AllReduces> all_reduces_of(const store::Run& run) {
  std::map<store::Parameters, AllReduces> series;  // by all parameters but the size
  for (const store::CaseResult& result : run.cases) {
    if (store::text_of(result.parameters, "workload") != "collective") continue;
    const auto time_s = time_of_call(result);
    store::Parameters rest = result.parameters;
    const auto bytes = static_cast<double>(store::integer_of(rest, "size", 0));
    rest.erase("size");
    if (!time_s || !(bytes > 0)) continue;
    AllReduces& found = series.try_emplace(rest, of_kind(rest)).first->second;
    found.run = run.info.name;
    found.times.push_back({bytes, *time_s});
  }
  std::vector<const std::pair<const store::Parameters, AllReduces>*> nearest;
  for (const auto& one : series) {
    const auto alike = std::ranges::find_if(
        nearest, [&](const auto* other) { return other->second.is_alike(one.second); });
    if (alike == nearest.end()) {
      nearest.push_back(&one);
    } else if (distance(one.second, one.first) < distance((*alike)->second, (*alike)->first)) {
      *alike = &one;
    }
  }
  std::vector<AllReduces> all;
  for (const auto* one : nearest) all.push_back(one->second);
  return all;
}

const AllReduces* find_all_reduces(const std::vector<AllReduces>& all,
                                   const store::Parameters& of_case) {
  const AllReduces wanted = of_kind(of_case);
  const auto found =
      std::ranges::find_if(all, [&](const AllReduces& one) { return one.is_alike(wanted); });
  return found == all.end() ? nullptr : &*found;
}

std::optional<CallCost> call_cost_of(const AllReduces& measured) {
  std::vector<double> bytes, times;
  std::set<double> sizes;
  for (const SizedTime& one : measured.times) {
    bytes.push_back(one.bytes);
    times.push_back(one.time_s);
    sizes.insert(one.bytes);
  }
  if (sizes.size() < least_sizes) return std::nullopt;
  const statistics::Line line = statistics::fit_relative_line(bytes, times);
  CallCost cost{line.intercept, line.slope};
  if (!(cost.call_s > 0) || !(cost.byte_s > 0)) return std::nullopt;
  for (const SizedTime& one : measured.times) {
    const double fitted_s = cost.call_s + one.bytes * cost.byte_s;
    cost.deviation = std::max(cost.deviation, std::abs(fitted_s / one.time_s - 1));
  }
  return cost;
}

}  // namespace assay::report
