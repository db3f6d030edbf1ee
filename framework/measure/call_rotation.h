#pragma once

#include "measure/clock.h"

namespace assay::measure {

class CallRotation {
 public:
  explicit CallRotation(TimedCalls timed)
      : timed_(std::move(timed)), last_(timed_.calls.size() - 1) {}

  // Runs the next program's `before` and the flush; returns what is to be timed.
  const std::function<void()>& next() {
    advance();
    timed_.calls[last_].before();
    flush();
    return timed_.calls[last_].run;
  }

  std::size_t advance() { return last_ = (last_ + 1) % timed_.calls.size(); }
  bool nothing_between() const { return timed_.nothing_between(); }
  void flush() {
    if (timed_.flush) timed_.flush();
  }
  void align() {
    if (timed_.align) timed_.align();
  }
  double worst_of_ranks(double value) const {
    return timed_.worst_of_ranks ? timed_.worst_of_ranks(value) : value;
  }
  const std::vector<Call>& calls() const { return timed_.calls; }
  std::size_t last() const { return last_; }

 private:
  TimedCalls timed_;
  std::size_t last_;
};

}  // namespace assay::measure
