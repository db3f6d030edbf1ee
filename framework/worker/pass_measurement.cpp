#include "worker/pass_measurement.h"

#include <algorithm>

#include "measure/clock.h"
#include "measure/memory.h"
#include "timing/host_clock.h"
#include "timing/sampling.h"
#include "worker/process_group.h"

namespace assay::worker {

namespace {

int integer_setting(const store::Parameters& parameters, const char* name) {
  return static_cast<int>(std::get<std::int64_t>(parameters.at(name)));
}

// A number written without a fraction is stored as an integer.
double real_setting(const store::Parameters& parameters, const char* name) {
  const Value& value = parameters.at(name);
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
}

// The step of a clock, and the share of a reading that it may be.
struct Precision {
  double resolution_s;
  double share;
};

Precision precision_of(const measure::Clock& clock) {
  if (clock.name() == "wall") return {timing::host_clock_step_s(), 1e-3};
  return {0.5e-6, 5e-3};  // of CUDA events, by the documentation of cudaEventElapsedTime
}

timing::SamplingSettings sampling_settings(const store::Parameters& parameters,
                                           const measure::Clock& clock) {
  const Precision precision = precision_of(clock);
  timing::SamplingSettings settings;
  settings.warmup = integer_setting(parameters, "measure.warmup");
  settings.samples = integer_setting(parameters, "measure.samples");
  settings.calls_per_sample = integer_setting(parameters, "measure.calls_per_sample");
  settings.target = real_setting(parameters, "measure.target");
  settings.min_samples = integer_setting(parameters, "measure.min_samples");
  settings.max_samples = integer_setting(parameters, "measure.max_samples");
  settings.max_time_s = real_setting(parameters, "measure.max_time");
  settings.resolution_s = precision.resolution_s;
  settings.shortest_reading_s = precision.resolution_s / precision.share;
  return settings;
}

// One of the device's clocks, reading the calls of one pass.
class PassStopwatch final : public timing::Stopwatch {
 public:
  PassStopwatch(measure::Clock& clock, measure::Clock& wall, const measure::Call& call, bool warmed)
      : clock_(clock), wall_(wall), call_(call), warmed_(warmed) {}

  double warm_up_s() override { return wall_.sample(call_, 1); }
  // Calls before the first sample, which without a warm-up only a clock may make that must.
  void prepare() override {
    if (warmed_ || clock_.name() == "cuda_graph") clock_.prepare(call_);
  }
  double sample_s(int calls) override {
    calls_ = calls;
    return clock_.sample(call_, calls);
  }
  // A reading like the last one, for nothing but what it leaves behind: caches, clocks.
  void read_untimed() { clock_.sample(call_, calls_); }

 private:
  measure::Clock& clock_;
  measure::Clock& wall_;
  const measure::Call& call_;
  bool warmed_;
  int calls_ = 1;  // of the last reading
};

timing::Hooks hooks_among(const CaseContext& context) {
  timing::Hooks hooks;
  if (context.group.size == 1) return hooks;
  hooks.before_reading = [&](std::size_t) { barrier(context.group); };
  hooks.worst_of_ranks = [&](double value) {
    return worst_of_ranks(context.group, context.device, value);
  };
  return hooks;
}

// A reading that follows one of another case finds that case's caches: the first of a turn is
// preceded by one that does not count, as all others are by one that does. Not so the very first
// where no call is to come before it.
void wait_for_turns(timing::Hooks& hooks, PassStopwatch& stopwatch, const std::string& pass,
                    const timing::SamplingSettings& settings, const OwnTurn& own_turn) {
  hooks.before_reading = [&, meet = std::move(hooks.before_reading)](std::size_t reading) {
    const int planned = settings.target > 0 ? settings.min_samples : settings.samples;
    const bool after_others = own_turn(pass, static_cast<std::int64_t>(reading), planned);
    if (after_others && (reading > 0 || settings.warmup > 0)) stopwatch.read_untimed();
    if (meet) meet(reading);
  };
}

nlohmann::json facts_of(const timing::Taken& taken, const timing::SamplingSettings& settings,
                        const std::string& clock) {
  nlohmann::json facts = {{"clock", clock},
                          {"warmup", settings.warmup},
                          {"samples", taken.samples_s.size()},
                          {"calls_per_sample", settings.calls_per_sample},
                          {"grouped_calls", taken.calls_in_reading},
                          {"resolution_s", settings.resolution_s},
                          {"too_short", taken.too_short},
                          {"stopped_by", timing::to_text(taken.stopped_by)},
                          {"relative_interval", taken.relative_interval}};  // null for infinity
  if (settings.target > 0) facts["target"] = settings.target;
  return facts;
}

Status prepare(const Composition& composition, ProgramBoundary& program, const std::string& pass,
               GuardedStep& step) {
  if (composition.compile) {
    return composition.compile->prepare(program, pass, composition.context, step);
  }
  step.before = [&program, pass] { return program.before(pass); };
  step.run = [&program, pass] { return program.run(pass); };
  return {};
}

void add_times(const std::string& pass, const timing::Taken& taken,
               const timing::SamplingSettings& settings, const std::string& clock,
               std::vector<store::Series>& series) {
  series.push_back(
      {.pass = pass, .metric = "time", .unit = "s", .clock = clock, .samples = taken.samples_s});
  series.push_back({.pass = pass,
                    .metric = "first_call_time",
                    .unit = "s",
                    .clock = settings.warmup > 0 ? "wall" : clock,
                    .samples = {taken.first_call_s}});
}

void add_memory(const std::string& pass, const measure::Call& call, const at::Device& device,
                std::int64_t preparing_peak_bytes, std::vector<store::Series>& series) {
  call.before();
  const measure::MemoryUse use = measure::observe_memory(device, call.run);
  series.push_back({.pass = pass,
                    .metric = "memory_before",
                    .unit = "byte",
                    .samples = {static_cast<double>(use.before_bytes)}});
  series.push_back(
      {.pass = pass,
       .metric = "peak_memory",
       .unit = "byte",
       .samples = {static_cast<double>(std::max(use.peak_bytes, preparing_peak_bytes))}});
}

std::string unit_of_count(const std::string& metric) {
  if (metric == "flops") return "FLOP";
  return metric == "bytes" ? "byte" : "count";
}

void add_counts(const std::string& pass, ProgramBoundary& program,
                std::vector<store::Series>& series) {
  std::vector<Count> counts;
  throw_unless_ok(program.counts(pass, counts));
  for (const Count& count : counts) {
    series.push_back({.pass = pass,
                      .metric = count.metric,
                      .part = count.part,
                      .unit = unit_of_count(count.metric),
                      .samples = {count.value}});
  }
}

}  // namespace

PassReport measure_pass(const Composition& composition, ProgramBoundary& program,
                        const std::string& pass, const store::Parameters& parameters,
                        const OwnTurn& own_turn) {
  const at::Device& device = composition.context.device;
  GuardedStep step;
  // Replays of a captured step allocate nothing: what it needs shows while it is captured.
  const measure::MemoryUse preparing = measure::observe_memory(
      device, [&] { throw_unless_ok(prepare(composition, program, pass, step)); });
  const measure::Call call = {[&] { throw_unless_ok(step.before()); },
                              [&] { throw_unless_ok(step.run()); }};
  const auto clock =
      measure::make_clock(std::get<std::string>(parameters.at("measure.clock")), device);
  const auto wall = measure::make_clock("wall", device);
  const timing::SamplingSettings settings = sampling_settings(parameters, *clock);
  PassStopwatch stopwatch(*clock, *wall, call, settings.warmup > 0);
  timing::Hooks hooks = hooks_among(composition.context);
  if (own_turn) wait_for_turns(hooks, stopwatch, pass, settings, own_turn);
  const timing::Taken taken = timing::take_samples(stopwatch, settings, hooks);

  PassReport report;
  report.timing = facts_of(taken, settings, clock->name());
  add_times(pass, taken, settings, clock->name(), report.series);
  add_memory(pass, call, device, preparing.peak_bytes, report.series);
  add_counts(pass, program, report.series);
  return report;
}

}  // namespace assay::worker
