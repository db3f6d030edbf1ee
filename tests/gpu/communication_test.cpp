#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <thread>

#include "meeting_place.h"
#include "plugins/support.h"
#include "plugins/trained_together.h"
#include "worker/process/process_group.h"

#ifdef ASSAY_TEST_KERNELS
#include <c10/cuda/CUDAGuard.h>

namespace assay {
namespace {

constexpr int ranks = 2;

struct Trained {
  Status status;
  at::Tensor first, second;            // the parameters, once the ranks have met
  at::Tensor first_grad, second_grad;  // once the backward has finished
};

// A rank alone would wait for the others: all meet once all are ready, or none.
struct Meeting {
  std::latch arrived{ranks};
  std::atomic<bool> takes_place = true;

  bool all_come(const Status& ready) {
    if (!ready.ok()) takes_place = false;
    arrived.arrive_and_wait();
    return takes_place;
  }
};

// Rank r begins with parameters full of r + 5 and r + 7. Gradients: 0, 1, 2, … times r + 1 for the
// first; full of 8 for the second, on rank 1 only. The first has an odd size.
Trained train(worker::Placement placement, int rank, Meeting& meeting) {
  Trained trained;
  const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(rank));
  const auto floats = at::TensorOptions().device(device).dtype(at::kFloat);
  std::vector<at::Tensor> parameters;
  std::unique_ptr<CommunicationBoundary> plugin;
  trained.status = guarded([&] {
    parameters = {at::full({1'000'003}, rank + 5, floats).requires_grad_(),
                  at::full({3, 5}, rank + 7, floats).requires_grad_()};
    plugin = test::load<CommunicationBoundary>("communication", "naive", "naive");
  });
  if (!meeting.all_come(trained.status)) return trained;
  trained.status = guarded([&] {
    const c10::cuda::CUDAGuard guard(device);
    placement.rank = placement.local_rank = rank;
    worker::ProcessGroups groups(placement);
    const TrainedModel model = {{{"first", parameters[0]}, {"second", parameters[1]}},
                                {{"block", {0, 1}}}};
    throw_unless_ok(plugin->attach(model, groups.mesh("nccl", device), {}));
    trained.first = parameters[0].detach().cpu();
    trained.second = parameters[1].detach().cpu();
    parameters[0].mutable_grad() = at::arange(1'000'003, floats) * (rank + 1);
    if (rank == 1) parameters[1].mutable_grad() = at::full({3, 5}, 8, floats);
    throw_unless_ok(plugin->backward_finished());
    trained.first_grad = parameters[0].grad().cpu();
    trained.second_grad = parameters[1].grad().cpu();
  });
  return trained;
}

TEST(GpuCommunication, NaiveStartsFromRankZeroAndAveragesEveryGradientOverNccl) {
  if (at::getNumGPUs() < ranks) {
    GTEST_SKIP() << "NCCL's ranks need a GPU each: this machine has " << at::getNumGPUs();
  }
  const worker::Placement placement = test::meeting_place(ranks);
  Meeting meeting;
  std::array<Trained, ranks> trained;
  std::thread other([&] { trained[1] = train(placement, 1, meeting); });
  trained[0] = train(placement, 0, meeting);
  other.join();
  for (int rank = 0; rank < ranks; ++rank) {
    SCOPED_TRACE(rank);
    const Trained& seen = trained[rank];
    ASSERT_TRUE(seen.status.ok()) << seen.status.reason;
    EXPECT_TRUE(seen.first.equal(at::full({1'000'003}, 5.F)));
    EXPECT_TRUE(seen.second.equal(at::full({3, 5}, 7.F)));
    EXPECT_TRUE(seen.first_grad.equal(at::arange(1'000'003, at::kFloat) * 1.5F));
    EXPECT_TRUE(seen.second_grad.equal(at::full({3, 5}, 4.F)));
  }
}

// Ten steps of each variant, with all its streams, against one GPU with the whole batch.
test::TrainedRank train_on_gpu(const test::TrainingSetup& setup, worker::Placement placement,
                               int rank, Meeting& meeting) {
  test::TrainedRank trained;
  std::unique_ptr<CommunicationBoundary> variant;
  trained.status = guarded([&] { variant = test::make_variant(setup); });
  if (!meeting.all_come(trained.status)) return trained;
  const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(rank));
  trained.status = guarded([&] {
    const c10::cuda::CUDAGuard guard(device);
    placement.rank = placement.local_rank = rank;
    worker::ProcessGroups groups(placement);
    trained.parameters =
        test::train(setup, variant.get(), groups.get("nccl", device), rank, rank + 1, device);
    for (at::Tensor& parameter : trained.parameters) parameter = parameter.cpu();
  });
  return trained;
}

class TrainedTogetherOnGpus : public testing::TestWithParam<test::TrainingSetup> {};

TEST_P(TrainedTogetherOnGpus, IsAsOneProcessOnTheWholeBatch) {
  if (at::getNumGPUs() < ranks) {
    GTEST_SKIP() << "NCCL's ranks need a GPU each: this machine has " << at::getNumGPUs();
  }
  const test::TrainingSetup& setup = GetParam();
  const auto expected = test::train(setup, nullptr, Group(), 0, ranks, at::Device(at::kCUDA, 0));
  const worker::Placement placement = test::meeting_place(ranks);
  Meeting meeting;
  std::vector<test::TrainedRank> trained(ranks);
  std::thread other([&] { trained[1] = train_on_gpu(setup, placement, 1, meeting); });
  trained[0] = train_on_gpu(setup, placement, 0, meeting);
  other.join();
  test::expect_trained(trained, expected, setup.tolerance);
}

INSTANTIATE_TEST_SUITE_P(, TrainedTogetherOnGpus, testing::ValuesIn(test::training_setups()));

}  // namespace
}  // namespace assay

#endif
