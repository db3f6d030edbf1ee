#include "worker/pass/sampling_settings.h"

namespace assay::worker {

namespace {

int integer_setting(const store::Parameters& parameters, const char* name) {
  return static_cast<int>(std::get<std::int64_t>(parameters.at(name)));
}

// A number without a fraction is stored as an integer.
double real_setting(const store::Parameters& parameters, const char* name) {
  const Value& value = parameters.at(name);
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
}

}  // namespace

timing::SamplingSettings sampling_settings(const store::Parameters& parameters,
                                           const measure::Clock& clock) {
  timing::SamplingSettings settings;
  settings.warmup = integer_setting(parameters, "measure.warmup");
  settings.samples = integer_setting(parameters, "measure.samples");
  settings.calls_per_sample = integer_setting(parameters, "measure.calls_per_sample");
  settings.target = real_setting(parameters, "measure.target");
  settings.min_samples = integer_setting(parameters, "measure.min_samples");
  settings.max_samples = integer_setting(parameters, "measure.max_samples");
  settings.max_time_s = real_setting(parameters, "measure.max_time");
  settings.resolution_s = clock.resolution_s();
  settings.shortest_reading_s = clock.shortest_reading_s();
  return settings;
}

}  // namespace assay::worker
