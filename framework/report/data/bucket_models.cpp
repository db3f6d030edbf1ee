#include "report/data/bucket_models.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "report/data/ceilings.h"
#include "report/data/reduce.h"

namespace assay::report {
namespace {

constexpr const char* bucket_size = "communication.bucket_size";
constexpr const char* of_pass = "train_step";
constexpr std::size_t least_bucket_sizes = 3;

// Of one call.
std::optional<double> time_of(const store::CaseResult& result, const char* part,
                              Statistic statistic) {
  auto time_s = of_slowest_rank(result, of_pass, "time", part, statistic);
  if (time_s) *time_s /= calls_per_sample(result.parameters);
  return time_s;
}

struct Step {
  const store::CaseResult* result;
  double time_s, bytes;
};

// By all parameters but the bucket size.
std::map<store::Parameters, std::vector<Step>> steps_of(const store::Run& run) {
  std::map<store::Parameters, std::vector<Step>> found;
  for (const store::CaseResult& result : run.cases) {
    if (!result.parameters.contains(bucket_size)) continue;
    const auto time_s = time_of(result, "", Statistic::mean);
    const auto bytes =
        of_slowest_rank(result, of_pass, "sent_bytes", "all_reduce", Statistic::mean);
    if (!time_s || !bytes || !(*bytes > 0)) continue;
    store::Parameters rest = result.parameters;
    rest.erase(bucket_size);
    found[rest].push_back({&result, *time_s, *bytes});
  }
  return found;
}

store::Series figure(const char* metric, const char* unit, double value) {
  store::Series series{.pass = of_pass, .metric = metric, .unit = unit};
  series.samples = {value};
  return series;
}

BucketModel model_of(const std::vector<Step>& steps, const CallCost& cost) {
  const auto fastest = std::ranges::min_element(steps, {}, &Step::time_s);
  const auto largest = std::ranges::max_element(steps, {}, &Step::bytes);
  const store::Parameters& parameters = fastest->result->parameters;
  BucketModel model{fastest->result, {}};
  model.series = {figure("gradient_size", "byte", largest->bytes),
                  figure("call_overhead", "s", cost.call_s),
                  figure("bandwidth", "byte/s", 1 / cost.byte_s),
                  figure("best_bucket_size", "byte",
                         static_cast<double>(store::integer_of(parameters, bucket_size, 0)))};
  const auto exposed_s = time_of(*fastest->result, "communication", Statistic::median);
  if (exposed_s) model.series.push_back(figure("best_bucket_exposed", "s", *exposed_s));
  return model;
}

}  // namespace

std::vector<BucketModel> bucket_models(const store::Run& run,
                                       const std::vector<AllReduces>& all_reduces) {
  std::vector<BucketModel> models;
  for (const auto& [rest, steps] : steps_of(run)) {
    const AllReduces* measured = find_all_reduces(all_reduces, rest);
    const auto cost = measured == nullptr ? std::nullopt : call_cost_of(*measured);
    std::set<std::int64_t> sizes;
    for (const Step& step : steps) {
      sizes.insert(store::integer_of(step.result->parameters, bucket_size, 0));
    }
    if (sizes.size() >= least_bucket_sizes && cost) models.push_back(model_of(steps, *cost));
  }
  return models;
}

}  // namespace assay::report
