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

// The sum of two numbers is rounded once, in whatever order, and AdamW takes each element alone.
TEST(ShardedTraining, IsThatOfWholeParametersOnTwoRanksToTheBit) {
  for (const char* precision : {"fp32", "bf16"}) {
    test::TrainingSetup whole = test::setup_of("bucketed");
    whole.precision = precision;
    const auto expected = train_ranks(whole, 2);
    for (test::TrainingSetup setup :
         {test::setup_of("sharded_optimizer"), test::setup_of("zero1"), test::setup_of("fsdp"),
          test::setup_of("fsdp", {{"reshard_after_forward", false}})}) {
      setup.precision = precision;
      SCOPED_TRACE(testing::PrintToString(setup));
      const auto found = train_ranks(setup, 2);
      ASSERT_TRUE(found.front().status.ok()) << found.front().status.reason;
      for (std::size_t i = 0; i < expected.front().parameters.size(); ++i) {
        EXPECT_TRUE(found.front().parameters[i].equal(expected.front().parameters[i]))
            << "parameter " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, TrainedTogether, testing::ValuesIn(test::training_setups()));

}  // namespace
}  // namespace assay
