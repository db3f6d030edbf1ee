#include "worker/pass/pass_measurement.h"

#include <ATen/ops/zeros.h>
#include <assay/reference.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "measure/clock.h"
#include "measure/device.h"
#include "measure/host_time.h"
#include "measure/memory.h"
#include "measure/samples_range.h"
#include "statistics/quantiles.h"
#include "timing/sampling.h"
#include "worker/compose/prepared_pass.h"
#include "worker/looks/end_to_end.h"
#include "worker/looks/output_check.h"
#include "worker/looks/timed_looks.h"
#include "worker/pass/pass_phases.h"
#include "worker/pass/pass_programs.h"
#include "worker/pass/pass_stopwatch.h"
#include "worker/pass/sampling_settings.h"
#include "worker/pass/untimed_part.h"
#include "worker/process/process_group.h"

namespace assay::worker {

namespace {

// Ranks that arrive at a collective at different times would be timed by the last one's arrival. An
// all-reduce ahead of the first event, on the device itself, lets them begin within its own width.
std::function<void()> alignment_on_device(const CaseContext& context) {
  if (context.group.size == 1 || context.group.backend->getBackendName() != "nccl") return {};
  return [backend = context.group.backend,
          one = std::vector<at::Tensor>{at::zeros({1}, context.device)}]() mutable {
    c10d::AllreduceOptions options;
    options.asyncOp = false;  // on the current stream
    if (const auto work = backend->allreduce(one, options)) work->wait();
  };
}

timing::Hooks hooks_among(const CaseContext& context, PassStopwatch& stopwatch) {
  timing::Hooks hooks;
  hooks.before_reading = [&](std::size_t) {
    stopwatch.look();
    stopwatch.expect();
    if (context.group.size > 1) barrier(context.group);
  };
  if (context.group.size == 1) return hooks;
  hooks.worst_of_ranks = worst_among(context.group, context.device);
  return hooks;
}

TimedLooks::Plan looks_planned(const PassToMeasure& what, const timing::SamplingSettings& settings,
                               std::uint64_t secret, const std::function<double(double)>& worst) {
  const CaseContext& context = what.composition.context;
  return {.pass = what.pass,
          .integrity = what.integrity,
          .secret = secret,
          .readings = settings.target > 0 ? settings.min_samples : settings.samples,
          // Without a warm-up a look would warm up what the next sample is to show cold.
          .between = settings.warmup > 0 && what.renewal.renews(),
          .last_is_known = settings.target <= 0 && what.renewal.renews(),
          .device = context.device,
          .loss_scaling = context.precision.loss_scaling,
          .worst_of_ranks = worst,
          .give_back_memory = [&what] { what.freed.give_back(); }};
}

// A reading after another case's finds that case's caches. The very first has no untimed one ahead
// where no call may come before it.
void interleave(timing::Hooks& hooks, PassStopwatch& stopwatch, const PassToMeasure& what,
                const timing::SamplingSettings& settings) {
  hooks.before_reading = [&, meet = std::move(hooks.before_reading)](std::size_t reading) {
    stopwatch.look();
    const int planned = settings.target > 0 ? settings.min_samples : settings.samples;
    const bool after_others =
        what.await_turn(what.pass, static_cast<std::int64_t>(reading), planned);
    if (after_others && (reading > 0 || settings.warmup > 0)) stopwatch.bring_back_caches();
    meet(reading);
  };
}

bool names_inputs(const PassToMeasure& what) {
  std::vector<ProgramInput> inputs;
  throw_unless_ok(what.program.inputs(what.pass, inputs));
  return !inputs.empty();
}

store::TimedLooksFacts facts_of_looks(const TimedLooks& looks, const PassToMeasure& what) {
  store::TimedLooksFacts facts = looks.facts();
  if (!facts.renewed_inputs) facts.renewed_inputs = what.renewal.inputs();
  if (!facts.left_out && !what.renewal.renews() && names_inputs(what)) {
    facts.left_out = "this build cannot change its inputs between calls";
  }
  return facts;
}

store::SamplingFacts facts_of(const timing::Taken& taken, const timing::SamplingSettings& settings,
                              const measure::Clock& clock, const CaseCaches& caches) {
  // Calls in a row are not grouped for being short.
  const int in_reading =
      settings.samples_in_reading > 0 ? settings.calls_per_sample : taken.calls_in_reading;
  store::SamplingFacts facts = {.clock = clock.name(),
                                .warmup = settings.warmup,
                                .samples = std::ssize(taken.samples_s),
                                .calls_per_sample = settings.calls_per_sample,
                                .grouped_calls = in_reading,
                                .resolution_s = settings.resolution_s,
                                .too_short = taken.too_short,
                                .stopped_by = std::string(timing::to_text(taken.stopped_by)),
                                .relative_interval = taken.relative_interval,
                                .cache = caches.facts(),
                                .clock_facts = clock.facts()};
  if (settings.target > 0) facts.target = settings.target;
  return facts;
}

// How many untimed calls to check for varying outputs: as many as take a second. Several ranks make
// one, since all must make the same number.
int further_calls(const timing::Taken& taken, int calls_per_sample, const OutputCheck& outputs,
                  bool alone) {
  constexpr double most = 8;
  if (!alone || outputs.bytes() == 0) return 1;
  const double sample_s = *std::max_element(taken.samples_s.begin(), taken.samples_s.end());
  return static_cast<int>(std::clamp(calls_per_sample / sample_s, 1.0, most));
}

// The first call's free memory is filled with NaN, which exposes unwritten results. Returns for how
// long other streams of the device worked on after that call.
double look_at_further_calls(int calls, measure::Clock& clock, ProgramBoundary& program,
                             const at::Device& device, OutputCheck& outputs) {
  constexpr std::int64_t least = std::int64_t{1} << 20;
  constexpr std::int64_t most = std::int64_t{1} << 30;
  const std::int64_t wanted = std::clamp(2 * outputs.bytes(), least, most);
  const reference::PoisonedMemory poisoned(device,
                                           std::min(wanted, measure::free_bytes(device) / 2));
  double other_streams_s = 0;
  for (int call = 0; call < calls; ++call) {
    clock.call(0);
    if (call == 0) other_streams_s = measure::other_streams_s(device);
    outputs.look(program);
  }
  return other_streams_s;
}

// prepared_s: time to prepare the first sample, which is part of the first call's time unless an
// earlier one was measured.
void add_times(const PassToMeasure& what, const timing::Taken& taken, double prepared_s,
               const std::string& clock, std::vector<store::Series>& series) {
  series.push_back({.pass = what.pass,
                    .metric = "time",
                    .unit = "s",
                    .clock = clock,
                    .samples = taken.samples_s});
  series.push_back({.pass = what.pass,
                    .metric = "first_call_time",
                    .unit = "s",
                    .clock = what.first_call_s ? "wall" : clock,
                    .samples = {what.first_call_s.value_or(prepared_s + taken.first_call_s)}});
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

// The clocks' view of the pass's programs.
measure::TimedCalls calls_of(const PassToMeasure& what, const PassPrograms& programs) {
  const CaseContext& context = what.composition.context;
  measure::TimedCalls timed{programs.calls(), what.caches.flush(),
                            context.group.size == 1 && what.caches.facts().policy != "rotate"};
  timed.align = alignment_on_device(context);
  timed.worst_of_ranks = worst_among(context.group, context.device);
  if (context.group.size > 1 && what.renewal.by_program()) {
    timed.meet = [&group = context.group] { barrier(group); };
  }
  return timed;
}

// Whether `before` does anything, which keeps calls out of rows.
bool goes_before(const measure::Call& call) {
  constexpr double nothing_s = 1e-6;
  const double begin_s = measure::host_now_s();
  call.before();
  return measure::host_now_s() - begin_s > nothing_s;
}

// A short call has the same program only once in a row, so a row needs as many programs as calls.
// call_s: of a warm-up call, which takes longer than those timed.
int programs_wanted(double call_s, const measure::Clock& clock) {
  constexpr double longer = 4;
  constexpr double most = 32;
  const double shortest_s = clock.shortest_reading_s();
  if (call_s >= shortest_s) return 1;
  return static_cast<int>(std::clamp(std::ceil(longer * shortest_s / call_s), 1.0, most));
}

// Hosts of several GPUs leave a barrier at times that differ by more than a short call takes.
bool may_be_judged_end_to_end(const PassToMeasure& what, const timing::SamplingSettings& settings,
                              const Status& looks) {
  const CaseContext& context = what.composition.context;
  if (context.group.size > 1 && !context.device.is_cpu()) return false;
  if (settings.warmup == 0 || !what.renewal.renews()) return false;
  return worst_of_ranks(context.group, context.device, looks.ok() ? 0 : 1) == 0;
}

// Beside what a captured call keeps there may be no memory for others: it is not judged then.
Status judged_end_to_end(const measure::Clock& clock, double sample_s, const EndToEnd& calls) {
  Status found;
  const Status made = guarded([&] { found = agrees_with(sample_s, calls); });
  if (made.outcome == Outcome::oom && clock.name() == "cuda_graph") return {};
  throw_unless_ok(made);
  return found;
}

// What goes on once a call has ended is not in its time.
void refuse_work_after_a_call(std::string still) {
  if (!still.empty()) throw_unless_ok({Outcome::wrong, std::move(still)});
}

// Times the pass and checks the outputs of the timed calls. preparing_s: time that preparing the
// step took.
void take_times(const PassToMeasure& what, const GuardedStep& step, double preparing_s,
                OutputCheck& outputs, PhaseTimes& phases, PassReport& report) {
  const CaseContext& context = what.composition.context;
  PassPrograms programs(what, step);
  measure::TimedCalls timed = calls_of(what, programs);
  const auto wall = measure::make_clock("wall", context.device, {timed.calls, {}});
  const auto clock = measure::make_clock(std::get<std::string>(what.parameters.at("measure.clock")),
                                         context.device, std::move(timed));
  timing::SamplingSettings settings = sampling_settings(what.parameters, *clock);
  if (clock->name() == "wall" && settings.warmup > 0) {
    settings.samples_in_reading = calls_in_a_row(what.program, what.pass);
  }
  std::function<void()> after_sample;
  if (what.composition.tracer) {
    after_sample = [&] { phases.add(*programs.tracer(clock->last())); };
  }
  const std::uint64_t secret =
      common_number(context.group, context.device, measure::mixed(what.secret));
  programs.share(secret);
  std::function<void(double)> lengthen_rows;
  if (clock->makes_rows() && what.renewal.renews() && settings.samples_in_reading == 0) {
    lengthen_rows = [&](double call_s) {
      const int wanted = programs_wanted(call_s, *clock);
      if (wanted == 1 || goes_before(programs.calls().front())) return;
      clock->add(
          programs.take(what.caches.programs_of_a_row(wanted, what.bytes, what.build_another)));
      programs.share(secret);
    };
  }
  TimedLooks looks(
      looks_planned(what, settings, secret, worst_among(context.group, context.device)));
  std::function<void()> after_look;
  // The cases that it takes turns with may need for their looks what one of its own has taken.
  if (what.await_turn) after_look = [&what] { what.freed.give_back(); };
  PassStopwatch stopwatch({.clock = *clock,
                           .wall = *wall,
                           .programs = programs.called(),
                           .looks = looks,
                           .warmed = settings.warmup > 0,
                           .long_reading_s = long_reading_s(context.device, context.group.size),
                           .lengthen_rows = lengthen_rows,
                           .first_look = [&](ProgramBoundary& first) { outputs.look(first); },
                           .after_sample = after_sample,
                           .after_look = after_look});
  timing::Hooks hooks = hooks_among(context, stopwatch);
  if (what.await_turn) interleave(hooks, stopwatch, what, settings);
  what.freed.await_cleared();
  std::optional<measure::SamplesRange> range(std::in_place);
  const timing::Taken taken = timing::take_samples(stopwatch, settings, hooks);
  range.reset();
  const double other_streams_s = measure::other_streams_s(context.device);
  refuse_work_after_a_call(what.state.work_after_a_call());
  stopwatch.conclude();
  if (what.renewal.renews()) {
    clock->call(clock->last());  // with the inputs as they were built
  } else {
    clock->settle();
  }
  outputs.look(*programs.called()[clock->last()].program);
  const double again_s = look_at_further_calls(
      further_calls(taken, settings.calls_per_sample, outputs, context.group.size == 1), *clock,
      what.program, context.device, outputs);
  // A single wait may have been long for another reason.
  refuse_work_after_a_call(what.state.device_work_after_a_call(std::min(other_streams_s, again_s)));
  // Last: calls made here leave a program other outputs than those that a captured call writes.
  if (may_be_judged_end_to_end(what, settings, looks.status())) {
    looks.note(judged_end_to_end(
        *clock, statistics::median(taken.samples_s) / settings.calls_per_sample,
        programs.as_used(clock->makes_rows(),
                         settings.samples_in_reading * settings.calls_per_sample)));
  }

  report.look_facts = facts_of_looks(looks, what);
  report.outputs = looks.status();
  report.timing = facts_of(taken, settings, *clock, what.caches);
  add_times(what, taken, preparing_s + stopwatch.prepared_s(), clock->name(), report.series);
  phases.report(what.pass, clock->name(), report.series);
}

}  // namespace

void add_counts(const std::string& pass, const Composition& composition, ProgramBoundary& program,
                std::vector<store::Series>& series) {
  std::vector<Count> counts;
  throw_unless_ok(program.counts(pass, counts));
  for (const Count& count : counts) {
    series.push_back({.pass = pass,
                      .metric = count.metric,
                      .part = count.part,
                      .unit = composition.unit_of(count.metric),
                      .samples = {count.value}});
  }
}

double take_first_call(const Composition& composition, ProgramBoundary& program,
                       const std::string& pass, const store::Parameters& parameters) {
  const at::Device& device = composition.context.device;
  GuardedStep step;
  const double preparing_s =
      waited_s(device, [&] { throw_unless_ok(prepare(composition, program, pass, step)); });
  const auto wall = measure::make_clock("wall", device, {{call_of(step, nullptr)}, {}});
  const double call_s = wall->sample(1);
  const auto& name = std::get<std::string>(parameters.at("measure.clock"));
  if (name != "cuda_graph") return preparing_s + call_s;
  const auto clock = measure::make_clock(name, device, {{call_of(step, nullptr)}, {}});
  return preparing_s + call_s + waited_s(device, [&] { clock->prepare(); });
}

PassReport measure_pass(const PassToMeasure& what) {
  const at::Device& device = what.composition.context.device;
  GuardedStep step;
  double preparing_s = 0;
  // Replays of a captured step allocate nothing; its need shows during capture.
  const measure::MemoryUse preparing = measure::observe_memory(device, [&] {
    const auto make_ready = [&] {
      throw_unless_ok(prepare(what.composition, what.program, what.pass, step));
    };
    if (what.composition.compile) {
      preparing_s = waited_s(device, make_ready);
    } else {
      make_ready();
    }
  });
  PassReport report;
  OutputCheck outputs(what.pass, what.composition.context.precision, what.tolerance);
  // Further programs and captured calls, which only timing needs, are gone before memory is
  // observed.
  PhaseTimes phases;
  take_times(what, step, preparing_s, outputs, phases, report);
  if (report.outputs.ok()) report.outputs = outputs.status();
  report.output_facts = outputs.facts();
  add_memory(what.pass, call_of(step, nullptr), device, preparing.peak_bytes, what.memory_floor,
             report.series);
  if (measure::Tracer* tracer = what.composition.tracer.get()) {
    report.traced = guarded([&] {
      trace_pass(what.pass, call_of(step, tracer), device, phases, *tracer, what.recorder,
                 report.series);
    });
  }
  add_counts(what.pass, what.composition, what.program, report.series);
  // Ranks do so together, also those that have found nothing wrong.
  if (what.composition.compile &&
      (report.outputs.ok() || what.composition.context.group.size > 1)) {
    Status judged = judge_untimed_part({.step = step,
                                        .program = what.program,
                                        .pass = what.pass,
                                        .composition = what.composition,
                                        .bytes = what.bytes,
                                        .build_plain = what.build_plain});
    if (report.outputs.ok()) report.outputs = std::move(judged);
  }
  return report;
}

}  // namespace assay::worker
