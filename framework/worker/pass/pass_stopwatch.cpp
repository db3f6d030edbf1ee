#include "worker/pass/pass_stopwatch.h"

#include <algorithm>

#include "measure/content.h"
#include "measure/host_time.h"

namespace assay::worker {

namespace {

// Whether the clock captures the call in prepare() and times its replays.
bool captures(const measure::Clock& clock) { return clock.name() == "cuda_graph"; }

}  // namespace

double long_reading_s(const c10::Device& device, int ranks) {
  return device.is_cuda() && ranks == 1 ? 0.1 : std::numeric_limits<double>::infinity();
}

double PassStopwatch::warm_up_s() {
  const double call_s = parts_.wall.sample(1);
  warm_up_call_s_ = std::min(warm_up_call_s_, call_s);
  if (parts_.first_look) {
    std::exchange(parts_.first_look, nullptr)(*parts_.programs[parts_.wall.last()].program);
  }
  for (std::size_t i = 1; i < parts_.programs.size(); ++i) parts_.wall.sample(1);
  for (const CalledProgram& called : parts_.programs) called.renewal->begin();
  return call_s;
}

void PassStopwatch::prepare() {
  if (parts_.warmed && parts_.lengthen_rows) parts_.lengthen_rows(warm_up_call_s_);
  if (!parts_.warmed && !captures(parts_.clock)) return;
  const double begin_s = measure::host_now_s();
  parts_.clock.prepare();
  prepared_s_ = measure::host_now_s() - begin_s;
}

double PassStopwatch::sample_s(int calls) {
  for (const CalledProgram& called : parts_.programs) called.renewal->begin();
  calls_ = calls;
  reading_s_ = parts_.clock.sample(calls);
  if (wanted_) {
    // Of a row any call, drawn behind it.
    looked_at_ = parts_.clock.last() - measure::secret() % parts_.clock.last_row();
    parts_.looks.glance(*parts_.programs[looked_at_].program);
  }
  if (parts_.after_sample) parts_.after_sample();
  return reading_s_;
}

void PassStopwatch::expect() {
  wanted_ = parts_.looks.wants(readings_++);
  if (!wanted_ || announced_ > 1) return;
  const std::size_t next = (parts_.clock.last() + 1) % parts_.programs.size();
  wanted_ = parts_.looks.expect(*parts_.programs[next].program);
}

void PassStopwatch::look_at(std::size_t program) {
  // Another graph of a row may have been the last: one more replay, of the same contents.
  if (!parts_.clock.holds_last()) parts_.clock.settle();
  const CalledProgram& called = parts_.programs[program];
  parts_.looks.look(*called.program, *called.renewal);
}

void PassStopwatch::look() {
  if (!std::exchange(wanted_, false)) return;
  look_at(looked_at_);
  if (parts_.after_look) parts_.after_look();
  parts_.clock.sample(calls_);
}

void PassStopwatch::bring_back_caches() {
  if (reading_s_ < parts_.long_reading_s) parts_.clock.sample(calls_);
}

void PassStopwatch::conclude() {
  const bool renews = parts_.programs.front().renewal->renews();
  const bool last = std::exchange(wanted_, false);
  if (last || (renews && !parts_.looks.looked())) look_at(last ? looked_at_ : parts_.clock.last());
  for (const CalledProgram& called : parts_.programs) {
    called.renewal->restore();
    parts_.looks.note(called.renewal->unchanged());
  }
}

}  // namespace assay::worker
