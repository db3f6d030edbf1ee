#pragma once

#include <algorithm>
#include <iterator>
#include <limits>

#include "measure/clock.h"
#include "measure/host_time.h"

namespace assay::measure {

class CallRotation {
 public:
  explicit CallRotation(TimedCalls timed)
      : timed_(std::move(timed)), last_(timed_.calls.size() - 1) {}

  void add(std::vector<Call> calls) {
    timed_.calls.insert(timed_.calls.end(), std::move_iterator(calls.begin()),
                        std::move_iterator(calls.end()));
    rewind();
  }

  // Renews the next program's inputs, runs its `before` and the flush; returns what is to be timed.
  const std::function<void()>& next() {
    advance();
    last_row_ = 1;
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

  // A row of n calls follows, from the first program on, whose inputs are renewed now.
  void begin_row(int n) {
    const std::size_t programs = std::min(timed_.calls.size(), static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < programs; ++i) {
      const Call& call = timed_.calls[i];
      if (call.renew_ahead) call.renew_ahead();
      if (call.renew) call.renew();
    }
    rewind();
    last_row_ = programs;
  }
  // The next program is the first.
  void rewind() { last_ = timed_.calls.size() - 1; }
  const std::function<void()>& next_in_row() {
    advance();
    timed_.calls[last_].before();
    return timed_.calls[last_].run;
  }
  // The most calls of a row, at least 1.
  int longest_row() const {
    const Call& call = timed_.calls.front();
    const bool renewed = call.renew_ahead || call.renew;
    return renewed ? static_cast<int>(timed_.calls.size()) : std::numeric_limits<int>::max();
  }

  void renew_ahead() const {
    if (timed_.calls[last_].renew_ahead) timed_.calls[last_].renew_ahead();
  }
  void renew() const {
    if (timed_.calls[last_].renew) timed_.calls[last_].renew();
  }

  // The next program, alone.
  std::size_t advance_alone() {
    last_row_ = 1;
    return advance();
  }
  // As after the calls of a row.
  void end_row(int n) { last_ = static_cast<std::size_t>(n - 1) % timed_.calls.size(); }
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
  std::size_t last_row() const { return last_row_; }

 private:
  std::size_t advance() { return last_ = (last_ + 1) % timed_.calls.size(); }

  TimedCalls timed_;
  std::size_t last_;
  std::size_t last_row_ = 1;  // programs
  double before_s_ = 0;
};

// `calls` calls in as few rows of about the same length as rows of `longest` calls make.
// row_s(n): seconds of a row of n.
template <class RowTime>
double in_rows(int calls, int longest, const RowTime& row_s) {
  double total_s = 0;
  for (int left = calls; left > 0;) {
    const int rows = left / longest + (left % longest > 0 ? 1 : 0);
    const int n = left / rows + (left % rows > 0 ? 1 : 0);
    total_s += row_s(n);
    left -= n;
  }
  return total_s;
}

}  // namespace assay::measure
