// Proves the clocks on kernels of known duration.

#ifdef ASSAY_TEST_KERNELS

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/known_spin.h"
#include "gpu/timed.h"

namespace assay::test {
namespace {

class KnownDurations : public WithKnownSpin {};

constexpr double known_durations_s[] = {5e-6, 10e-6, 20e-6, 50e-6, 100e-6, 1e-3, 10e-3, 50e-3};

TEST_F(KnownDurations, AreMeasuredWithinOnePercentOnTheDevice) {
  for (const double known_s : known_durations_s) {
    const int samples = samples_for(known_s);
    const double event_s =
        median_of_clock("cuda_event", calls_of(spin_->varying_kernel(known_s)), samples);
    expect_within(event_s, known_s, 0.01, "cuda_event");
    const double graph_s = median_of_clock("cuda_graph", calls_of(spin_->kernel(known_s)), samples);
    expect_within(graph_s, known_s, 0.01, "cuda_graph");
  }
}

// The gap between two kernels varies in steps, and kernels of constant length always meet them at
// the same point.
TEST_F(KnownDurations, OfKernelsThatAlwaysTakeTheSameAreAsFarOffAsIsToldAtMost) {
  for (const char* name : {"cuda_event", "cuda_graph"}) {
    for (const double known_s : known_durations_s) {
      const Measured measured =
          measure_by(name, calls_of(spin_->kernel(known_s)), samples_for(known_s));
      const double allowed = std::max(measured.error_s / known_s, 0.001);
      expect_within(measured.s, known_s, allowed, std::string(name) + ", always the same");
    }
  }
}

// As `measure.integrity: full` times them: each call alone, behind kernels that renew its inputs.
TEST_F(KnownDurations, OfRenewedCallsAreAsFarOffAsIsToldAtMost) {
  for (const char* name : {"cuda_event", "cuda_graph"}) {
    for (const double known_s : known_durations_s) {
      measure::TimedCalls calls = calls_of(spin_->varying_kernel(known_s));
      calls.may_be_batched = false;
      calls.calls[0].renew_ahead = spin_->kernel(10e-6);
      calls.calls[0].renew = spin_->kernel(5e-6);
      const Measured measured = measure_by(name, std::move(calls), samples_for(known_s));
      const double allowed = std::max(measured.error_s / known_s, 0.01);
      expect_within(measured.s, known_s, allowed, std::string(name) + ", renewed");
    }
  }
}

// A call with nothing ahead of it is timed in a batch, others singly.
TEST_F(KnownDurations, HowFarACallMayBeOffIsToldByHowItWasTimed) {
  const auto error_s = [](const char* name, const std::function<void()>& flush, int calls) {
    const auto clock = measure::make_clock(name, cuda, calls_of(spin_->kernel(10e-6), flush));
    clock->prepare();
    clock->sample(1);
    clock->sample(calls);
    return clock->facts().call_error_s.value();
  };
  const auto flush = spin_->kernel(10e-6);
  EXPECT_DOUBLE_EQ(error_s("cuda_event", {}, 20), 0.165e-6);
  EXPECT_DOUBLE_EQ(error_s("cuda_graph", {}, 20), 0.05e-6);
  for (const char* name : {"cuda_event", "cuda_graph"}) {
    EXPECT_DOUBLE_EQ(error_s(name, {}, 1), 0.3e-6) << name;
    EXPECT_DOUBLE_EQ(error_s(name, flush, 20), 0.3e-6) << name;
  }
}

}  // namespace
}  // namespace assay::test

#endif
