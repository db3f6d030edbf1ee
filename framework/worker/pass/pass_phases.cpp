#include "worker/pass/pass_phases.h"

#include <algorithm>

#include "measure/device.h"
#include "worker/pass/overlap.h"

namespace assay::worker {

void PhaseTimes::add(const measure::Tracer& tracer) {
  const Status taken = guarded([&] {
    for (const measure::PhaseTime& time : tracer.times()) {
      const auto known = std::ranges::find(phases_, time.phase);
      const auto place = static_cast<std::size_t>(known - phases_.begin());
      if (known == phases_.end()) {
        phases_.push_back(time.phase);
        samples_s_.emplace_back();
      }
      samples_s_[place].push_back(time.s);
    }
  });
  if (failure_.ok()) failure_ = taken;
}

void PhaseTimes::report(const std::string& pass, const std::string& clock,
                        std::vector<store::Series>& series) const {
  if (!failure_.ok()) {
    series.push_back({.pass = pass,
                      .metric = "time",
                      .part = "phases",
                      .unit = "s",
                      .outcome = failure_.outcome,
                      .reason = failure_.reason});
    return;
  }
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    series.push_back({.pass = pass,
                      .metric = "time",
                      .part = phases_[i],
                      .unit = "s",
                      .clock = clock,
                      .samples = samples_s_[i]});
  }
}

namespace {

void add_memory(const std::string& pass, const PhaseTimes& times,
                const std::vector<measure::PhaseMemory>& memory,
                std::vector<store::Series>& series) {
  const auto add = [&](const std::string& phase, const char* metric, std::int64_t bytes) {
    series.push_back({.pass = pass,
                      .metric = metric,
                      .part = phase,
                      .unit = "byte",
                      .samples = {static_cast<double>(bytes)}});
  };
  for (const measure::PhaseMemory& phase : memory) {
    add(phase.phase, "memory_before", phase.floor_bytes);
    add(phase.phase, "peak_memory", phase.peak_bytes);
  }
  if (!memory.empty()) return;
  for (const std::string& phase : times.phases()) {
    series.push_back({.pass = pass,
                      .metric = "peak_memory",
                      .part = phase,
                      .unit = "byte",
                      .outcome = Outcome::unsupported,
                      .reason = "a replayed step allocates nothing: its memory was taken when it "
                                "was captured"});
  }
}

}  // namespace

void trace_pass(const std::string& pass, const measure::Call& call, const at::Device& device,
                const PhaseTimes& times, measure::Tracer& tracer, CaseRecorder& recorder,
                std::vector<store::Series>& series) {
  const auto call_once = [&](measure::Tracer::Takes takes) {
    call.before();
    measure::synchronize(device);
    tracer.take(takes);
    call.run();
    measure::synchronize(device);
  };
  call_once(measure::Tracer::Takes::memory);
  add_memory(pass, times, tracer.memory(), series);
  call_once(measure::Tracer::Takes::spans);
  const std::vector<measure::TracedSpan> spans = tracer.spans();
  add_overlap(pass, spans, series);
  for (const measure::TracedSpan& span : spans) {
    throw_unless_ok(
        recorder.span(span.part, span.lane, span.start_s - recorder.begin_s(), span.duration_s));
  }
  tracer.take(measure::Tracer::Takes::times);
}

}  // namespace assay::worker
