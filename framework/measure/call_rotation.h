#pragma once

#include "measure/clock.h"
#include "measure/host_time.h"

namespace assay::measure {

class CallRotation {
 public:
  explicit CallRotation(TimedCalls timed)
      : timed_(std::move(timed)), last_(timed_.calls.size() - 1) {}

  // Renews the next program's inputs, runs its `before` and the flush; returns what is to be timed.
  const std::function<void()>& next() {
    advance();
    renew_ahead();
    const double begin_s = host_now_s();
    timed_.calls[last_].before();
    before_s_ = host_now_s() - begin_s;
    renew();
    flush();
    return timed_.calls[last_].run;
  }
  // Host time of the last `before`.
  double before_s() const { return before_s_; }

  // Calls that share a reading: their inputs are renewed once, ahead of it.
  void renew_row() {
    for (const Call& call : timed_.calls) {
      if (call.renew_ahead) call.renew_ahead();
      if (call.renew) call.renew();
    }
  }
  const std::function<void()>& next_in_row() {
    advance();
    timed_.calls[last_].before();
    return timed_.calls[last_].run;
  }

  void renew_ahead() const {
    if (timed_.calls[last_].renew_ahead) timed_.calls[last_].renew_ahead();
  }
  void renew() const {
    if (timed_.calls[last_].renew) timed_.calls[last_].renew();
  }

  std::size_t advance() { return last_ = (last_ + 1) % timed_.calls.size(); }
  bool nothing_between() const { return timed_.nothing_between(); }
  void flush() {
    if (timed_.flush) timed_.flush();
  }
  void align() {
    if (timed_.align) timed_.align();
  }
  void meet() const {
    if (timed_.meet) timed_.meet();
  }
  double worst_of_ranks(double value) const {
    return timed_.worst_of_ranks ? timed_.worst_of_ranks(value) : value;
  }
  const std::vector<Call>& calls() const { return timed_.calls; }
  std::size_t last() const { return last_; }

 private:
  TimedCalls timed_;
  std::size_t last_;
  double before_s_ = 0;
};

}  // namespace assay::measure
