// What a time includes: comparison with hand-written loops of events, work that outlives its
// launch, gaps, and batches of calls.

#ifdef ASSAY_TEST_KERNELS

#include "measure/clock.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Sleep.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <assay/plugin.h>
#include <assay/reference.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "gpu/kernels.h"
#include "gpu/known_spin.h"
#include "gpu/timed.h"
#include "plugins/support.h"

namespace assay::test {
namespace {

using Monotonic = std::chrono::steady_clock;

class Clocks : public WithKnownSpin {};

// Launch times differ between graphs; the measured time excludes them.
TEST_F(Clocks, GraphsOfTheSameKernelAgree) {
  std::vector<double> measured_s;
  for (int i = 0; i < 12; ++i) {
    measured_s.push_back(median_of_clock("cuda_graph", calls_of(spin_->kernel(10e-6)), 100));
  }
  const auto [least, most] = std::minmax_element(measured_s.begin(), measured_s.end());
  std::printf("12 graphs of 10 us: %.3f to %.3f us\n", *least * 1e6, *most * 1e6);
  EXPECT_LT(*most - *least, 0.01 * 10e-6);
}

// This clock includes the host's microseconds for launching and waiting.
TEST_F(Clocks, AKernelOfKnownDurationIsMeasuredWithinOnePercentByTheWallFrom5Ms) {
  for (const double known_s : {5e-3, 20e-3, 50e-3}) {
    const double measured_s =
        median_of_clock("wall", calls_of(spin_->kernel(known_s)), samples_for(known_s));
    expect_within(measured_s, known_s, 0.01, "wall");
  }
}

TEST_F(Clocks, SeveralCallsInASampleAreTheirSum) {
  for (const char* name : {"cuda_event", "cuda_graph"}) {
    const auto clock = measure::make_clock(name, cuda, calls_of(spin_->kernel(20e-6)));
    clock->prepare();
    clock->sample(10);
    expect_within(clock->sample(100), 100 * 20e-6, 0.01, name);
  }
}

// Median of a pair of events around each launch. ahead: enqueued before each pair.
double event_loop(const std::function<void()>& kernel, int count,
                  const std::function<void()>& ahead) {
  at::cuda::CUDAEvent start(cudaEventDefault), stop(cudaEventDefault);
  std::vector<double> samples;
  for (int i = 0; i < count + 3; ++i) {
    ahead();
    start.record();
    kernel();
    stop.record();
    stop.synchronize();
    if (i >= 3) samples.push_back(start.elapsed_time(stop) * 1e-3);
  }
  return median(samples);
}

// The loop one would write without assay. It shows some 10 µs too much, which the host needs to
// enqueue the second event.
double plain_loop(const std::function<void()>& kernel, int count) {
  return event_loop(kernel, count, [] {});
}

// Keeps the device busy until everything is enqueued.
double held_loop(const std::function<void()>& kernel, int count) {
  return event_loop(kernel, count, [] { at::cuda::sleep(500'000); });
}

// A pair of events around many launches, enqueued while the device is busy.
double queued_loop(const std::function<void()>& kernel, int launches) {
  at::cuda::CUDAEvent start(cudaEventDefault), stop(cudaEventDefault);
  kernel();
  c10::cuda::device_synchronize();
  at::cuda::sleep(20'000'000);
  start.record();
  for (int i = 0; i < launches; ++i) kernel();
  stop.record();
  stop.synchronize();
  return start.elapsed_time(stop) * 1e-3 / launches;
}

TEST_F(Clocks, AgreesWithAHandWrittenLoopWithinOnePercent) {
  for (const double known_s : {2e-3, 10e-3}) {
    const auto kernel = spin_->kernel(known_s);
    const double plain_s = plain_loop(kernel, samples_for(known_s));
    for (const char* name : {"cuda_event", "cuda_graph"}) {
      const double measured_s = median_of_clock(name, calls_of(kernel), samples_for(known_s));
      expect_within(measured_s, plain_s, 0.01, std::string(name) + " against a loop");
    }
  }
  // For short kernels, subtract what the events show around an empty one.
  const auto nothing = [] { test::launch_nothing(current_stream()); };
  for (const double known_s : {100e-6, 200e-6}) {
    const auto short_kernel = spin_->kernel(known_s);
    const double loop_s = held_loop(short_kernel, 400) - held_loop(nothing, 400);
    for (const char* name : {"cuda_event", "cuda_graph"}) {
      expect_within(median_of_clock(name, calls_of(short_kernel), 400), loop_s, 0.01,
                    std::string(name) + " against a held loop");
    }
  }
  // The loop's time includes about a microsecond between kernels.
  const auto kernel = spin_->kernel(200e-6);
  expect_within(median_of_clock("cuda_event", calls_of(kernel), 200), queued_loop(kernel, 100),
                0.01, "cuda_event against a queue");
}

// The device's own gaps between the kernels of one call belong to its time, as one pair of events
// shows them.
TEST_F(Clocks, ACallOfManyKernelsIncludesTheGapsOfTheDeviceAndNotThoseOfTheHost) {
  constexpr int kernels = 200;
  const auto kernel = spin_->kernel(10e-6);
  const auto many = [&] {
    for (int i = 0; i < kernels; ++i) kernel();
  };
  const double queued_s = queued_loop(kernel, kernels) * kernels;
  expect_within(median_of_clock("cuda_event", calls_of(many), 20), queued_s, 0.01,
                "200 kernels in a call");
}

TEST_F(Clocks, WorkThatOutlivesItsLaunchIsNotCutOff) {
  const auto kernel = spin_->kernel(5e-3);
  const auto launched = Monotonic::now();
  kernel();
  const double launch_s = std::chrono::duration<double>(Monotonic::now() - launched).count();
  c10::cuda::device_synchronize();
  ASSERT_LT(launch_s, 2.5e-3) << "the launch must return long before the work is done";
  for (const char* name : {"wall", "cuda_event", "cuda_graph"}) {
    EXPECT_GE(median_of_clock(name, calls_of(kernel), 5), 0.99 * 5e-3) << name;
  }
}

TEST_F(Clocks, WorkOnAnotherStreamThatJoinsIsNotCutOff) {
  const auto side = c10::cuda::getStreamFromPool();
  const auto kernel = spin_->kernel(5e-3);
  const auto on_both = [&] {
    at::cuda::CUDAEvent forked, joined;
    const auto stream = c10::cuda::getCurrentCUDAStream();
    forked.record(stream);
    forked.block(side);
    {
      const c10::cuda::CUDAStreamGuard guard(side);
      kernel();
    }
    joined.record(side);
    joined.block(stream);
  };
  for (const char* name : {"wall", "cuda_event", "cuda_graph"}) {
    EXPECT_GE(median_of_clock(name, calls_of(on_both), 5), 0.99 * 5e-3) << name;
  }
}

TEST_F(Clocks, WorkOnAnotherStreamThatNeverJoinsIsRefusedRatherThanCutOff) {
  const auto side = c10::cuda::getStreamFromPool();
  const auto kernel = spin_->kernel(5e-3);
  const auto apart = [&] {
    const c10::cuda::CUDAStreamGuard guard(side);
    kernel();
  };
  EXPECT_GE(median_of_clock("wall", calls_of(apart), 5), 0.99 * 5e-3);
  for (const char* name : {"cuda_event", "cuda_graph"}) {
    const auto clock = measure::make_clock(name, cuda, calls_of(apart));
    EXPECT_THROW(clock->prepare(), Unsupported) << name;
  }
}

// It would be over before the stream that is timed has begun.
TEST_F(Clocks, WorkOnAnotherStreamThatTheHostAwaitsIsNotCutOff) {
  const auto side = c10::cuda::getStreamFromPool();
  const auto kernel = spin_->kernel(5e-3);
  const auto awaited = [&] {
    const c10::cuda::CUDAStreamGuard guard(side);
    kernel();
    side.synchronize();
  };
  for (const char* name : {"wall", "cuda_event"}) {
    EXPECT_GE(median_of_clock(name, calls_of(awaited), 5), 0.99 * 5e-3) << name;
  }
  // Nor beside what goes ahead of the call, which the device still runs.
  const auto ahead = spin_->kernel(10e-3);
  const measure::TimedCalls behind{{{ahead, awaited}}, {}};
  EXPECT_GE(median_of_clock("cuda_event", behind, 5), 0.99 * 5e-3);
}

TEST_F(Clocks, LaunchGapsThatCouldNotBeKeptOutAreCounted) {
  const auto kernel = spin_->kernel(100e-6);
  const auto clock = measure::make_clock("cuda_event", cuda, calls_of(kernel));
  clock->prepare();
  for (int i = 0; i < 10; ++i) clock->sample(1);
  EXPECT_LT(clock->facts().calls_with_launch_gaps, 5) << "the host may be held up now and then";

  const auto slow = measure::make_clock("cuda_event", cuda, calls_of([&] {
                                          kernel();
                                          const auto end =
                                              Monotonic::now() + std::chrono::milliseconds(100);
                                          while (Monotonic::now() < end) {
                                          }
                                          kernel();
                                        }));
  slow->prepare();
  slow->sample(2);
  EXPECT_EQ(slow->facts().calls_with_launch_gaps, 2);
}

TEST_F(Clocks, AGraphOfABackwardReplaysItsForwardFirst) {
  auto tested = test::make_case({"attention", "naive", "rmsnorm", "fp32"}, cuda);
  tested.context.parameters = {{"batch", std::int64_t{2}},
                               {"heads", std::int64_t{2}},
                               {"seq_len", std::int64_t{128}},
                               {"d_head", std::int64_t{32}},
                               {"kv_heads", std::int64_t{0}},
                               {"window", std::int64_t{0}},
                               {"causal", true}};
  for (const std::string pass : {"forward", "backward", "forward_backward"}) {
    std::unique_ptr<ProgramBoundary> eager, captured;
    throw_unless_ok(tested.workload->build(tested.context, eager));
    throw_unless_ok(tested.workload->build(tested.context, captured));
    const auto expected = test::call_once(tested, *eager, pass);
    const auto clock = measure::make_clock("cuda_graph", cuda,
                                           {{{[&] { throw_unless_ok(captured->before(pass)); },
                                              [&] { throw_unless_ok(captured->run(pass)); }}},
                                            {}});
    clock->prepare();
    EXPECT_GT(clock->sample(3), 0);
    clock->call(0);
    std::vector<NamedTensor> outputs;
    throw_unless_ok(captured->outputs(pass, outputs));
    ASSERT_EQ(outputs.size(), expected.size()) << pass;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_LT(reference::relative_error(outputs[i].tensor, expected[i].tensor), 1e-5)
          << pass << " " << outputs[i].name;
    }
  }
}

// Adds one to a number on the device and holds a copy of it.
struct Counter {
  at::Tensor number = at::zeros({1}, at::TensorOptions().device(cuda));
  at::Tensor held;

  void count() {
    number.add_(1);
    held = number.clone();
  }
};

bool capturing() {
  return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

TEST_F(Clocks, AProgramHoldsWhatItsLastReplayLeftHoweverManyGraphsThereAre) {
  Counter counter;
  int captured = 0;
  const auto before = [&] { counter.held = at::Tensor(); };
  const auto run = [&] {
    counter.count();
    if (capturing()) ++captured;
  };
  const auto clock = measure::make_clock("cuda_graph", cuda, {{{before, run}}, {}});
  clock->prepare();
  for (const int calls : {1, 40, 40, 100, 7}) {
    EXPECT_GT(clock->sample(calls), 0);
    clock->settle();
    EXPECT_EQ(counter.held.item<float>(), counter.number.item<float>()) << calls << " calls";
  }
  EXPECT_GE(captured, 1 + 4 * 40) << "no row was captured";
}

TEST_F(Clocks, CallsThatCannotBeCapturedInARowAreTimedOneByOne) {
  Counter counter;
  int captured = 0;
  bool refused = false;
  const auto before = [&] {
    counter.held = at::Tensor();
    if (captured < 2) return;
    refused = true;
    captured = 0;
    throw std::runtime_error("no more than two in a row");
  };
  const auto run = [&] {
    counter.count();
    captured = capturing() ? captured + 1 : 0;
  };
  const auto clock = measure::make_clock("cuda_graph", cuda, {{{before, run}}, {}});
  clock->prepare();
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(clock->sample(40), 0);
    clock->settle();
    EXPECT_EQ(counter.held.item<float>(), counter.number.item<float>());
  }
  EXPECT_TRUE(refused) << "no row was captured";
}

TEST_F(Clocks, ACallThatWaitsForTheDeviceCannotBeCapturedAndSaysSo) {
  const auto ones = at::ones({16}, at::TensorOptions().device(cuda));
  const auto clock =
      measure::make_clock("cuda_graph", cuda, calls_of([&] { ones.sum().item<float>(); }));
  EXPECT_THROW(clock->prepare(), Unsupported);
  EXPECT_EQ(ones.sum().item<float>(), 16);
}

}  // namespace
}  // namespace assay::test

#endif
