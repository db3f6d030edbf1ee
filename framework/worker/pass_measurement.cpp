#include "worker/pass_measurement.h"

#include <algorithm>

#include "measure/clock.h"
#include "measure/memory.h"
#include "worker/process_group.h"

namespace assay::worker {

namespace {

int integer_setting(const store::Parameters& parameters, const char* name) {
  return static_cast<int>(std::get<std::int64_t>(parameters.at(name)));
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

std::string unit_of_count(const std::string& metric) {
  if (metric == "flops") return "FLOP";
  return metric == "bytes" ? "byte" : "count";
}

void add_memory(const std::string& pass, const measure::Call& call, const at::Device& device,
                std::int64_t preparing_peak_bytes, MemoryFloor& floor,
                std::vector<store::Series>& series) {
  measure::MemoryUse use;
  floor.observe([&] {
    call.before();
    use = measure::observe_memory(device, call.run);
  });
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
                        MemoryFloor& floor) {
  const at::Device& device = composition.context.device;
  GuardedStep step;
  // Replays of a captured step allocate nothing: what it needs shows while it is captured.
  const measure::MemoryUse preparing = measure::observe_memory(
      device, [&] { throw_unless_ok(prepare(composition, program, pass, step)); });
  const measure::Call call = {[&] { throw_unless_ok(step.before()); },
                              [&] { throw_unless_ok(step.run()); }};
  const auto clock =
      measure::make_clock(std::get<std::string>(parameters.at("measure.clock")), device);
  const measure::TimingSettings settings = {
      integer_setting(parameters, "measure.warmup"), integer_setting(parameters, "measure.samples"),
      integer_setting(parameters, "measure.calls_per_sample")};
  const measure::Timing timing = measure::time_call(*clock, call, device, settings,
                                                    [&] { barrier(composition.context.group); });
  PassReport report;
  report.series.push_back({.pass = pass,
                           .metric = "time",
                           .unit = "s",
                           .clock = clock->name(),
                           .samples = timing.samples_s});
  report.series.push_back({.pass = pass,
                           .metric = "first_call_time",
                           .unit = "s",
                           .clock = "wall",
                           .samples = {timing.first_call_s}});
  add_memory(pass, call, device, preparing.peak_bytes, floor, report.series);
  add_counts(pass, program, report.series);
  return report;
}

}  // namespace assay::worker
