// What ranks agree on before they look at a step together.

#include "training/looks.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <limits>
#include <new>
#include <stdexcept>

#include "ranks.h"
#include "trained_together.h"

namespace assay::training {
namespace {

TEST(LooksOfRanks, AreLeftOutOnAllWhereOneLacksMemory) {
  std::vector<Status> told(3);
  test::on_ranks(3, [&](const Group& group) {
    told[static_cast<std::size_t>(group.rank)] = with_memory_on_all_ranks(group, at::kCPU, [&] {
      if (group.rank == 1) throw std::bad_alloc();
    });
    EXPECT_TRUE(with_memory_on_all_ranks(group, at::kCPU, [] {}).ok());
  });
  for (const Status& status : told) EXPECT_EQ(status.outcome, Outcome::oom);
  EXPECT_EQ(told[0].reason, "another rank lacks the memory");
  EXPECT_NE(told[1].reason.find("bad_alloc"), std::string::npos) << told[1].reason;
}

TEST(LooksOfRanks, AverageGradientsAndNothingElse) {
  test::on_ranks(2, [&](const Group& group) {
    std::vector<NamedTensor> outputs = {{"loss", at::full({}, 1.0 + group.rank)},
                                        {"grad.w", at::full({3}, 2.0 + 4 * group.rank)}};
    average_gradients(group, outputs);
    EXPECT_EQ(outputs[0].tensor.item<double>(), 1.0 + group.rank);
    EXPECT_TRUE(outputs[1].tensor.equal(at::full({3}, 4.0)));
    EXPECT_FALSE(all_ranks(group, at::kCPU, group.rank == 0));
    EXPECT_TRUE(all_ranks(group, at::kCPU, true));
  });
}

// zero1 and fsdp have gradients in slices, which a look gathers.
TEST(LooksOfRanks, CompareReplicasAndSlices) {
  for (const char* variant : {"naive", "zero1", "fsdp"}) {
    for (const char* pass : {"forward", "forward_backward", "train_step"}) {
      SCOPED_TRACE(std::string(variant) + " " + pass);
      std::vector<Verification> found(2);
      test::on_ranks(2, [&](const Group& group) {
        const auto communication = test::make_variant(test::setup_of(variant));
        auto tested = test::make_case({"model_step"});
        test::set_model(tested.context, "swiglu", 2, 16);
        tested.context.group = group;
        tested.context.mesh = Mesh(group);
        tested.context.communication = communication.get();
        const auto program = test::build(tested);
        throw_unless_ok(program->expect_look(pass));
        test::call_once(tested, *program, pass);
        throw_unless_ok(program->look(pass, {.seed = 3, .device = at::kCPU},
                                      found[static_cast<std::size_t>(group.rank)]));
      });
      for (const Verification& of_rank : found) {
        EXPECT_TRUE(of_rank.checked) << of_rank.left_out;
        EXPECT_LE(of_rank.error, of_rank.tolerance) << of_rank.worst;
      }
    }
  }
}

TEST(Looks, OtherFailuresAreThrown) {
  EXPECT_THROW(static_cast<void>(with_memory_on_all_ranks(
                   {}, at::kCPU, [] { throw std::invalid_argument("no such pass"); })),
               std::invalid_argument);
  const Status lacking = with_memory_on_all_ranks({}, at::kCPU, [] { need_host_memory(0x1p60); });
  EXPECT_EQ(lacking.outcome, Outcome::oom);
  EXPECT_EQ(lacking.reason.find("a look needs 1048576.00 TiB of host memory"), 0u)
      << lacking.reason;
  need_host_memory(1);
  need_memory(at::kCPU, 1);
}

TEST(Looks, SeeGradientsThatOverflow) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(overflown({{"loss", at::full({}, infinity)}, {"grad.w", at::ones({2})}}));
  EXPECT_TRUE(overflown({{"grad.v", at::ones({2})}, {"grad.w", at::full({2}, -infinity)}}));
}

}  // namespace
}  // namespace assay::training
