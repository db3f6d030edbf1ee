#include "cli/planned_calls.h"

#include <cmath>

#include "statistics/summary.h"

namespace assay::cli {

double calls_per_sample(const store::Parameters& parameters) {
  return static_cast<double>(store::integer_of(parameters, "measure.calls_per_sample", 1));
}

double calls_of_pass(const store::Parameters& parameters, std::int64_t samples_with_target) {
  const bool has_target = store::number_of(parameters, "measure.target", 0) > 0;
  const std::int64_t samples =
      has_target ? samples_with_target
                 : store::integer_of(parameters, "measure.samples", samples_with_target);
  return static_cast<double>(store::integer_of(parameters, "measure.warmup", 0)) +
         static_cast<double>(samples) * calls_per_sample(parameters);
}

double seconds_in_calls(const store::CaseResult& result) {
  double seconds = 0;
  for (const store::Series& series : result.series) {
    if (series.metric != "time" || !series.part.empty() || series.rank != 0) continue;
    const auto samples = static_cast<std::int64_t>(series.samples.size());
    const double call_s =
        statistics::summarise(series.samples).median / calls_per_sample(result.parameters);
    if (std::isfinite(call_s)) seconds += calls_of_pass(result.parameters, samples) * call_s;
  }
  return seconds;
}

}  // namespace assay::cli
