// Ranks under each communication variant train as one process does on the whole batch.

#include "trained_together.h"

#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "measure/gloo.h"

namespace assay {
namespace {

std::vector<test::TrainedRank> train_ranks(const test::TrainingSetup& setup, int ranks) {
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1);  // it is unsafe with several groups in a process
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<test::TrainedRank> trained(static_cast<std::size_t>(ranks));
  std::vector<Group> groups(trained.size());
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        Group& group = groups[static_cast<std::size_t>(rank)];
        test::TrainedRank& own = trained[static_cast<std::size_t>(rank)];
        group = {rank, ranks, measure::make_gloo(store, rank, ranks, std::chrono::seconds(60))};
        own.status = guarded([&] {
          const auto variant = test::make_variant(setup);
          own.parameters = test::train(setup, variant.get(), group, rank, rank + 1, at::kCPU);
        });
      });
    }
  }
  for (const Group& group : groups) group.backend->shutdown();
  return trained;
}

class TrainedTogether : public testing::TestWithParam<test::TrainingSetup> {};

TEST_P(TrainedTogether, IsAsOneProcessOnTheWholeBatch) {
  const test::TrainingSetup& setup = GetParam();
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(ranks);
    const auto expected = test::train(setup, nullptr, Group(), 0, ranks, at::kCPU);
    test::expect_trained(train_ranks(setup, ranks), expected, setup.tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(, TrainedTogether, testing::ValuesIn(test::training_setups()));

}  // namespace
}  // namespace assay
