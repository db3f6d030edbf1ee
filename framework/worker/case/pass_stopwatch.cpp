#include "worker/case/pass_stopwatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/host_time.h"

namespace assay::worker {

namespace {

// Whether the clock captures the call in prepare() and times its replays.
bool captures(const measure::Clock& clock) { return clock.name() == "cuda_graph"; }

}  // namespace

double PassStopwatch::warm_up_s() {
  const double call_s = parts_.wall.sample(1);
  if (parts_.first_look) {
    std::exchange(parts_.first_look, nullptr)(*parts_.programs[parts_.wall.last()].program);
  }
  for (std::size_t i = 1; i < parts_.programs.size(); ++i) parts_.wall.sample(1);
  for (const CalledProgram& called : parts_.programs) called.renewal->begin();
  return call_s;
}

void PassStopwatch::prepare() {
  if (!parts_.warmed && !captures(parts_.clock)) return;
  const double begin_s = measure::host_now_s();
  parts_.clock.prepare();
  prepared_s_ = measure::host_now_s() - begin_s;
}

double PassStopwatch::sample_s(int calls) {
  for (const CalledProgram& called : parts_.programs) called.renewal->begin();
  calls_ = calls;
  const double s = parts_.clock.sample(calls);
  if (wanted_) parts_.looks.glance(*parts_.programs[parts_.clock.last()].program);
  last_call_s_ = s / calls;
  if (parts_.after_sample) parts_.after_sample();
  return s;
}

void PassStopwatch::expect() {
  wanted_ = parts_.looks.wants(readings_++);
  // Of several calls a look sees the last.
  if (!wanted_ || announced_ > 1) return;
  const std::size_t next = (parts_.clock.last() + 1) % parts_.programs.size();
  wanted_ = parts_.looks.expect(*parts_.programs[next].program);
}

void PassStopwatch::look_at_last() {
  // Another graph of a batch may have been the last: one more replay, of the same contents.
  if (!parts_.clock.holds_last()) parts_.clock.settle();
  const CalledProgram& called = parts_.programs[parts_.clock.last()];
  parts_.looks.look(*called.program, *called.renewal);
}

void PassStopwatch::look() {
  if (!std::exchange(wanted_, false)) return;
  look_at_last();
  read_untimed();
  if (calls_ > 1 && parts_.rows_share_inputs) time_alone();
}

// Calls that share a reading share their inputs: what remembers them works once in a row.
void PassStopwatch::time_alone() {
  constexpr int times = 10;  // a busy machine disturbs some
  row_call_s_ = std::max(row_call_s_, last_call_s_);
  for (int i = 0; i < times; ++i) alone_s_ = std::min(alone_s_, parts_.clock.sample(1));
}

Status PassStopwatch::rows_agree() const {
  constexpr double factor = 2;
  if (std::isinf(alone_s_) || alone_s_ <= factor * row_call_s_ + parts_.alone_longer_s) return {};
  return {Outcome::wrong,
          fmt::format("with new inputs it takes {:.3g} us, in a row of calls with the same {:.3g}",
                      alone_s_ * 1e6, row_call_s_ * 1e6)};
}

void PassStopwatch::conclude() {
  const bool renews = parts_.programs.front().renewal->renews();
  if (wanted_ || (renews && !parts_.looks.looked())) look_at_last();
  wanted_ = false;
  parts_.looks.note(rows_agree());
  for (const CalledProgram& called : parts_.programs) {
    called.renewal->restore();
    parts_.looks.note(called.renewal->unchanged());
  }
}

}  // namespace assay::worker
