// Phases of known duration, launched and replayed from a graph, and what they cost the total.

#ifdef ASSAY_TEST_KERNELS

#include "measure/tracer.h"

#include <assay/record.h>
#include <gmock/gmock.h>

#include "gpu/known_spin.h"
#include "gpu/timed.h"

namespace assay::test {
namespace {

class Phases : public WithKnownSpin {
 protected:
  void SetUp() override {
    WithKnownSpin::SetUp();
    if (IsSkipped()) return;
    tracer_ = measure::Tracer::make(cuda);
    short_ = spin_->kernel(2e-3);
    long_ = spin_->kernel(6e-3);
  }

  // 2 ms, then twice 6 ms.
  void step(const TraceHandle& trace) {
    {
      const auto phase = trace.phase("short");
      short_();
    }
    for (int i = 0; i < 2; ++i) {
      const auto phase = trace.phase("long");
      long_();
    }
  }
  std::function<void()> traced() {
    return [this] {
      tracer_->begin_call();
      step(TraceHandle(tracer_.get()));
    };
  }

  void expect_phases() const {
    const auto times = tracer_->times();
    ASSERT_EQ(times.size(), 2u);
    EXPECT_EQ(times[0].phase, "short");
    expect_within(times[0].s, 2e-3, 0.02, "short");
    EXPECT_EQ(times[1].phase, "long");
    expect_within(times[1].s, 12e-3, 0.02, "long");
  }

  std::unique_ptr<measure::Tracer> tracer_;
  std::function<void()> short_, long_;
};

TEST_F(Phases, LastAsLongAsTheirWork) {
  for (const char* clock : {"wall", "cuda_event"}) {
    const auto timed = measure::make_clock(clock, cuda, calls_of(traced()));
    timed->sample(1);  // makes the events
    timed->sample(1);
    expect_phases();
  }
}

TEST_F(Phases, OfACapturedStepAreTakenByEachReplay) {
  const auto clock = measure::make_clock("cuda_graph", cuda, calls_of(traced()));
  clock->prepare();
  for (int i = 0; i < 3; ++i) {
    clock->sample(1);
    expect_phases();
  }
}

TEST_F(Phases, ChangeTheTotalByLessThanHalfAPercent) {
  for (const char* clock : {"wall", "cuda_event", "cuda_graph"}) {
    const double with_s = median_of_clock(clock, calls_of(traced()), 30);
    const double without_s = median_of_clock(clock, calls_of([this] { step({}); }), 30);
    expect_within(with_s, without_s, 0.005, clock);
  }
}

TEST_F(Phases, SpansLieOnTheHostsTimeBase) {
  tracer_->take(measure::Tracer::Takes::spans);
  tracer_->begin_call();
  const TraceHandle trace(tracer_.get());
  {
    const auto span = trace.span("outer", "lane");
    step(trace);
  }
  c10::cuda::getCurrentCUDAStream().synchronize();
  const auto spans = tracer_->spans();
  ASSERT_EQ(spans.size(), 4u);
  const auto& outer = spans.back();
  EXPECT_EQ(outer.part, "outer");
  expect_within(outer.duration_s, 14e-3, 0.02, "outer");
  for (const auto& inner : spans) {
    EXPECT_GE(inner.start_s, outer.start_s - 1e-6);
    EXPECT_LE(inner.start_s + inner.duration_s, outer.start_s + outer.duration_s + 1e-6);
  }
}

}  // namespace
}  // namespace assay::test

#endif
