// Communication variants over NCCL, a process for each of two GPUs.

#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "plugins/communication/trained_together.h"
#include "plugins/support.h"
#include "ranks.h"
#include "worker/process/process_group.h"

#ifdef ASSAY_TEST_KERNELS
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

namespace assay {
namespace {

constexpr int ranks = 2;

class GpuCommunication : public testing::Test {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() < ranks) {
      GTEST_SKIP() << "NCCL's ranks need a GPU each: this machine has " << at::getNumGPUs();
    }
  }
  static at::Device device_of(const worker::Placement& placement) {
    return {at::kCUDA, static_cast<c10::DeviceIndex>(placement.rank)};
  }
};

// Rank r begins with parameters full of r + 5 and r + 7. Gradients: 0, 1, 2, … times r + 1 for the
// first; full of 8 for the second, on rank 1 only. The first has an odd size.
TEST_F(GpuCommunication, NaiveStartsFromRankZeroAndAveragesEveryGradientOverNccl) {
  test::on_ranks_of_gpus(ranks, [](const worker::Placement& placement) {
    const at::Device device = device_of(placement);
    const c10::cuda::CUDAGuard guard(device);
    const int rank = placement.rank;
    const auto floats = at::TensorOptions().device(device).dtype(at::kFloat);
    const std::vector<at::Tensor> parameters = {
        at::full({1'000'003}, rank + 5, floats).requires_grad_(),
        at::full({3, 5}, rank + 7, floats).requires_grad_()};
    const auto plugin = test::load<CommunicationBoundary>("communication", "naive", "naive");
    worker::ProcessGroups groups(placement);
    const TrainedModel model = {{{"first", parameters[0]}, {"second", parameters[1]}},
                                {{"block", {0, 1}}}};
    throw_unless_ok(plugin->attach(model, groups.mesh("nccl", device), {}));
    EXPECT_TRUE(parameters[0].detach().cpu().equal(at::full({1'000'003}, 5.F)));
    EXPECT_TRUE(parameters[1].detach().cpu().equal(at::full({3, 5}, 7.F)));
    parameters[0].mutable_grad() = at::arange(1'000'003, floats) * (rank + 1);
    if (rank == 1) parameters[1].mutable_grad() = at::full({3, 5}, 8, floats);
    throw_unless_ok(plugin->backward_finished());
    EXPECT_TRUE(parameters[0].grad().cpu().equal(at::arange(1'000'003, at::kFloat) * 1.5F));
    EXPECT_TRUE(parameters[1].grad().cpu().equal(at::full({3, 5}, 4.F)));
  });
}

// Sizes of less and more than the allocator's blocks. Rank 1 has other free memory than rank 0.
TEST_F(GpuCommunication, SumsInMemoryOfTheGroup) {
  test::on_ranks_of_gpus(ranks, [](const worker::Placement& placement) {
    const at::Device device = device_of(placement);
    const c10::cuda::CUDAGuard guard(device);
    worker::ProcessGroups groups(placement);
    const Group& group = groups.get("nccl", device);
    const auto floats = at::TensorOptions().device(device).dtype(at::kFloat);
    ASSERT_TRUE(group.backend->supportsTensorAlloc(device.index()));
    at::full({placement.rank == 1 ? 5'000'000 : 1}, 1, floats);
    const auto held = [&] {
      return c10::cuda::CUDACachingAllocator::getDeviceStats(device.index())
          .allocated_bytes[0]
          .current;
    };
    const auto before = held();
    for (int round = 0; round < 2; ++round) {
      std::vector<at::Tensor> kept;
      for (const std::int64_t size : {64, 1'000'000, 30'000'000}) {
        std::vector<at::Tensor> sent = {group.backend->allocateTensor(size, floats)};
        EXPECT_TRUE(sent[0].eq(0).all().item<bool>());
        sent[0].copy_(at::arange(size, floats).remainder(1000) + placement.rank);
        group.backend->allreduce(sent)->wait();
        EXPECT_TRUE(sent[0].equal(at::arange(size, floats).remainder(1000) * 2 + 1)) << size;
        kept.push_back(sent[0]);
      }
      EXPECT_GE(held() - before, 31'000'064 * 4);
      kept.clear();
    }
    EXPECT_EQ(held(), before);
  });
}

// Ten steps of each variant, with all its streams, against one GPU with the whole batch. The ranks
// begin once for all of them, since that takes longer than the steps.
TEST_F(GpuCommunication, EveryVariantTrainsAsOneProcessOnTheWholeBatch) {
  test::on_ranks_of_gpus(ranks, [](const worker::Placement& placement) {
    const at::Device device = device_of(placement);
    const c10::cuda::CUDAGuard guard(device);
    worker::ProcessGroups groups(placement);
    const Group& group = groups.get("nccl", device);
    for (const test::TrainingSetup& setup : test::training_setups()) {
      SCOPED_TRACE(testing::PrintToString(setup));
      const auto expected = test::train(setup, nullptr, Group(), 0, ranks, device);
      const auto variant = test::make_variant(setup);
      std::vector<test::TrainedRank> trained(ranks);
      auto& own = trained[static_cast<std::size_t>(placement.rank)].parameters;
      own = test::train(setup, variant.get(), group, placement.rank, placement.rank + 1, device);
      for (int root = 0; root < ranks; ++root) {
        auto& parameters = trained[static_cast<std::size_t>(root)].parameters;
        for (std::size_t i = 0; i < own.size(); ++i) {
          std::vector<at::Tensor> sent = {root == placement.rank ? own[i] : at::empty_like(own[i])};
          c10d::BroadcastOptions options;
          options.rootRank = root;
          group.backend->broadcast(sent, options)->wait();
          if (root != placement.rank) parameters.push_back(sent.front());
        }
      }
      test::expect_trained(trained, expected, setup.tolerance);
    }
  });
}

}  // namespace
}  // namespace assay

#endif
