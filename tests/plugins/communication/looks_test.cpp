// What ranks agree on before they look at a step together.

#include "training/looks.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>

#include "ranks.h"
#include "trained_together.h"
#include "training/replicas.h"

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

using Looks = std::vector<Verification>;  // by rank

// Both ranks' looks at the third step of a workload under a communication variant.
Looks third_steps(const std::string& workload, const test::TrainingSetup& setup, int idle_rank) {
  Looks found(2);
  test::on_ranks(2, [&](const Group& group) {
    const auto communication = test::make_variant(setup);
    auto tested = test::make_case({workload, "naive", "rmsnorm", setup.precision});
    if (workload == "model_step") {
      test::set_model(tested.context, "swiglu", 2, 16);
    } else {
      tested.context.parameters = {{"width", test::integer(30)}, {"batch", test::integer(7)}};
    }
    tested.context.precision.initial_loss_scale = 1024;
    tested.context.group = group;
    tested.context.mesh = Mesh(group);
    tested.context.communication = communication.get();
    int steps = 0;
    tested.context.ops.optimizer = [&, right = tested.context.ops.optimizer](const auto& in) {
      if (++steps < 3 || group.rank != idle_rank) right(in);
    };
    const auto program = test::build(tested);
    for (int step = 1; step <= 3; ++step) {
      if (step == 3) throw_unless_ok(program->expect_look("train_step"));
      test::call_once(tested, *program, "train_step");
    }
    throw_unless_ok(program->look("train_step", {.seed = 3, .device = at::kCPU},
                                  found[static_cast<std::size_t>(group.rank)]));
  });
  return found;
}

std::vector<test::TrainingSetup> looked_at_setups() {
  std::vector<test::TrainingSetup> setups;
  for (const char* precision : {"fp32", "fp16", "bf16_master", "fp16_master"}) {
    for (const char* variant : {"naive", "flat", "overlap", "bucketed", "reducer",
                                "sharded_optimizer", "zero1", "fsdp"}) {
      setups.push_back(test::setup_of(variant));
      setups.back().precision = precision;
    }
  }
  for (const char* variant : {"bucketed", "zero1", "fsdp"}) {
    setups.push_back(test::setup_of(variant, {{"gradients", std::string("bf16")}}));
    setups.back().precision = "bf16";
  }
  setups.push_back(test::setup_of("none"));
  return setups;
}

TEST(LooksOfRanks, HonestStepsOfEveryVariantPass) {
  for (const char* workload : {"model_step", "toy_mlp"}) {
    for (const test::TrainingSetup& setup : looked_at_setups()) {
      SCOPED_TRACE(testing::PrintToString(setup) + " " + workload);
      for (const Verification& of_rank : third_steps(workload, setup, -1)) {
        EXPECT_TRUE(of_rank.checked) << of_rank.left_out;
        EXPECT_LE(of_rank.error, of_rank.tolerance) << of_rank.worst;
      }
    }
  }
}

TEST(LooksOfRanks, ARankWithoutAnOptimizerIsWrong) {
  for (const char* workload : {"model_step", "toy_mlp"}) {
    for (const test::TrainingSetup& setup : looked_at_setups()) {
      SCOPED_TRACE(testing::PrintToString(setup) + " " + workload);
      const Verification idle = third_steps(workload, setup, 1)[1];
      EXPECT_TRUE(idle.checked) << idle.left_out;
      EXPECT_GT(idle.error, idle.tolerance) << idle.worst;
    }
  }
}

Looks compared(const std::function<std::vector<NamedTensor>(int rank)>& replicas) {
  Looks found(2);
  test::on_ranks(2, [&](const Group& group) {
    compare_replicas(group, at::kCPU, replicas(group.rank),
                     found[static_cast<std::size_t>(group.rank)]);
  });
  return found;
}

TEST(Replicas, ThatAreAlikePass) {
  const at::Tensor large = at::randn({300, 40}), small = at::randn({3});
  for (const Verification& found : compared([&](int) {
         return std::vector<NamedTensor>{{"large", large}, {"small", small.to(at::kBFloat16)}};
       })) {
    EXPECT_TRUE(found.checked);
    EXPECT_EQ(found.error, 0) << found.worst;
  }
}

// Of any tensor, also of one that is small beside the others.
TEST(Replicas, ThatDriftApartWithTheSameNormsAreWrong) {
  const at::Tensor large = at::randn({300, 40}) * 100, x = at::randn({50}), y = at::randn({50});
  constexpr double angle = 1e-3;
  for (const Verification& found : compared([&](int rank) {
         const double turn = rank * angle;
         const at::Tensor small = at::cat(
             {x * std::cos(turn) - y * std::sin(turn), x * std::sin(turn) + y * std::cos(turn)});
         return std::vector<NamedTensor>{{"large", large}, {"small", small}};
       })) {
    EXPECT_GT(found.error, found.tolerance);
    EXPECT_EQ(found.worst, "this rank's small");
  }
}

TEST(Replicas, ThatAreNotFiniteAreWrong) {
  for (const Verification& found : compared([&](int rank) {
         return std::vector<NamedTensor>{
             {"a", at::ones({5})}, {"b", rank == 0 ? at::ones({5}) : at::full({5}, std::nan(""))}};
       })) {
    EXPECT_GT(found.error, found.tolerance);
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
