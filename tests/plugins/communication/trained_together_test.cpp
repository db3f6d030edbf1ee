// Ranks under each communication variant train as one process does on the whole batch.

#include "trained_together.h"

#include "ranks.h"

namespace assay {
namespace {

std::vector<test::TrainedRank> train_ranks(const test::TrainingSetup& setup, int ranks) {
  std::vector<test::TrainedRank> trained(static_cast<std::size_t>(ranks));
  test::on_ranks(ranks, [&](const Group& group) {
    test::TrainedRank& own = trained[static_cast<std::size_t>(group.rank)];
    own.status = guarded([&] {
      const auto variant = test::make_variant(setup);
      own.parameters =
          test::train(setup, variant.get(), group, group.rank, group.rank + 1, at::kCPU);
    });
  });
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
