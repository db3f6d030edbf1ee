// Collectives between two GPUs: every operation through every layer, in and out of place; calls in
// a row; and lone calls from a start that the device makes.

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "plugins/communication/collective_case.h"
#include "plugins/recorded.h"
#include "ranks.h"

#ifdef ASSAY_TEST_KERNELS
#include <c10/cuda/CUDAGuard.h>

namespace assay {
namespace {

constexpr int ranks_of_a_collective = 2;

class GpuCollective : public testing::Test {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() < ranks_of_a_collective) {
      GTEST_SKIP() << "NCCL's ranks need a GPU each: this machine has " << at::getNumGPUs();
    }
  }

  // Calls `rank` in a process for each GPU.
  static void on_gpus(const std::string& backend,
                      const std::function<void(const Group&, at::Device)>& rank) {
    test::on_ranks_of_gpus(ranks_of_a_collective, [&](const worker::Placement& placement) {
      const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(placement.rank));
      const c10::cuda::CUDAGuard guard(device);
      worker::ProcessGroups groups(placement);
      rank(groups.get(backend, device), device);
    });
  }
};

TEST_F(GpuCollective, EveryOperationIsRightThroughEveryLayer) {
  on_gpus("nccl", [](const Group& group, at::Device device) {
    for (const char* layer : {"c10d", "c10d_async", "nccl"}) {
      for (const char* placement : {"auto", "in_place", "out_of_place"}) {
        const auto tested = test::collective_case(
            group, 1'000'000,
            {{"layer", std::string(layer)}, {"placement", std::string(placement)}}, device);
        for (const auto& pass : test::collectives) {
          Verification verification;
          const Status status = tested.workload->verify(tested.context, pass, verification);
          if (status.outcome == Outcome::unsupported) continue;
          EXPECT_TRUE(status.ok()) << status.reason;
          EXPECT_TRUE(verification.checked);
          EXPECT_EQ(verification.error, 0) << pass << " " << placement << " by " << layer;
        }
      }
    }
  });
}

// Of NCCL itself only what cannot work in place is refused.
TEST_F(GpuCollective, NcclItselfWorksInAndOutOfPlace) {
  on_gpus("nccl", [](const Group& group, at::Device device) {
    for (const char* placement : {"in_place", "out_of_place"}) {
      const auto tested = test::collective_case(
          group, 1 << 20, {{"layer", std::string("nccl")}, {"placement", std::string(placement)}},
          device);
      for (const char* pass : {"all_reduce", "all_gather", "reduce_scatter", "broadcast"}) {
        EXPECT_EQ(test::verify(tested, pass).error, 0) << pass << " " << placement;
      }
    }
  });
}

TEST_F(GpuCollective, CallsInARowLeaveWhatOneCallLeaves) {
  on_gpus("nccl", [](const Group& group, at::Device device) {
    for (const char* layer : {"c10d", "c10d_async", "nccl"}) {
      const auto tested = test::collective_case(
          group, 1 << 16, {{"layer", std::string(layer)}, {"calls", test::integer(200)}}, device);
      const auto program = test::build(tested);
      for (const char* pass : {"all_reduce", "all_gather"}) {
        throw_unless_ok(program->before(pass));
        throw_unless_ok(program->run_in_a_row(pass, 1));
        const auto once = test::output(*program, pass);
        throw_unless_ok(program->before(pass));
        throw_unless_ok(program->run_in_a_row(pass, 200));
        EXPECT_EQ(test::output(*program, pass), once) << pass << " by " << layer;
        int renewed = 0;
        throw_unless_ok(program->renew(pass, 11, renewed));
        throw_unless_ok(program->before(pass));
        throw_unless_ok(program->run_in_a_row(pass, 200));
        Verification found;
        throw_unless_ok(program->look(pass, {}, found));
        EXPECT_TRUE(found.checked);
        EXPECT_EQ(found.error, 0) << pass << " by " << layer;
        EXPECT_NE(test::output(*program, pass), once) << pass << " by " << layer;
      }
    }
  });
}

TEST_F(GpuCollective, LoneCallsAreHeldUntilBothRanksHaveEnqueuedThem) {
  on_gpus("nccl", [](const Group& group, at::Device device) {
    for (const char* layer : {"c10d", "c10d_async", "nccl"}) {
      const auto tested = test::collective_case(
          group, 1 << 20, {{"layer", std::string(layer)}, {"lone_calls", test::integer(100)}},
          device);
      const auto recorded = test::recorded(tested, "collective", "all_reduce");
      const auto times = recorded.samples("lone_time");
      EXPECT_GE(times.size(), 50u) << "of 100 calls few were held";
      EXPECT_TRUE(std::ranges::all_of(times, [](double s) { return s > 0; })) << layer;
    }
  });
}

TEST_F(GpuCollective, GlooMovesWhatLiesOnGpus) {
  on_gpus("gloo", [](const Group& group, at::Device device) {
    const auto tested = test::collective_case(group, 100'000, {}, device);
    for (const char* pass : {"all_reduce", "broadcast"}) {
      EXPECT_EQ(test::verify(tested, pass).error, 0) << pass;
    }
    Verification verification;
    const Status refused = tested.workload->verify(tested.context, "send_recv", verification);
    EXPECT_EQ(refused.outcome, Outcome::unsupported);
    EXPECT_EQ(refused.reason, "Gloo sends from and receives into the host's memory only");
  });
}

}  // namespace
}  // namespace assay
#endif
