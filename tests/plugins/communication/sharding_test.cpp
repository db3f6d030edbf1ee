#include <limits>

#include "measure/memory.h"
#include "plugins/support.h"
#include "ranks.h"

namespace assay {
namespace {

constexpr int ranks = 4;
constexpr std::int64_t layers = 16;

struct Peaks {
  Status status;
  std::int64_t forward_backward = 0;
  std::int64_t train_step = 0;
  std::int64_t moments = 0;    // bytes
  double parameter_bytes = 0;  // of the whole model, fp32
};

std::unique_ptr<CommunicationBoundary> communication(const std::string& name) {
  if (name == "naive") return test::load<CommunicationBoundary>("communication", name, name);
  return test::load_fixture<CommunicationBoundary>("sharded_variants", name);
}

constexpr int repetitions = 2;

// Peaks of all tensors of one rank, what was allocated before included. Gloo's threads free some
// tensors where nobody counts, so that each repetition counts too much; the least counts.
Peaks measure_rank(const std::string& variant, const std::string& precision, const Group& group) {
  Peaks peaks;
  peaks.status = guarded([&] {
    const measure::CpuMemoryScope memory;
    test::CaseNames names;
    names.workload = "model_step";
    names.precision = precision;
    auto tested = test::make_case(names);
    test::set_model(tested.context, "swiglu", 1, 4, 64, 128, layers);
    const auto plugin = communication(variant);
    tested.context.communication = plugin.get();
    tested.context.group = group;
    tested.context.mesh = Mesh(group);
    const auto program = test::build(tested);
    std::int64_t held = measure::allocated_bytes(at::kCPU);
    const auto peak = [&](const std::string& pass) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (int i = 0; i < repetitions; ++i) {
        throw_unless_ok(program->before(pass));
        const auto use =
            measure::observe_memory(at::kCPU, [&] { throw_unless_ok(program->run(pass)); });
        least = std::min(least, use.peak_bytes - use.before_bytes);
      }
      return held + least;
    };
    peaks.forward_backward = peak("forward_backward");
    throw_unless_ok(program->before("forward_backward"));  // drops the last results
    const std::int64_t before_bytes = measure::allocated_bytes(at::kCPU);
    throw_unless_ok(program->before("train_step"));
    peaks.moments = measure::allocated_bytes(at::kCPU) - before_bytes;
    held += peaks.moments;
    peaks.train_step = peak("train_step");
    std::vector<Count> counts;
    throw_unless_ok(program->counts("train_step", counts));
    for (const Count& count : counts) {
      if (count.metric == "parameters") peaks.parameter_bytes = 4 * count.value;
    }
  });
  return peaks;
}

std::vector<Peaks> measure_ranks(const std::string& variant, const std::string& precision) {
  std::vector<Peaks> peaks(ranks);
  test::on_ranks(ranks, [&](const Group& group) {
    peaks[static_cast<std::size_t>(group.rank)] = measure_rank(variant, precision, group);
  });
  return peaks;
}

// Two moments of a quarter of the parameters; slices are padded.
void expect_sharded_moments(const Peaks& rank) {
  EXPECT_NEAR(static_cast<double>(rank.moments), 2 * rank.parameter_bytes / ranks,
              0.02 * rank.parameter_bytes);
}

// Autograd holds every parameter from its forward to its backward, and autocast would hold copies
// of all in bf16.
TEST(BlockShard, PeakOfForwardAndBackwardIsBelowTheUnshardedParameters) {
  for (const std::string precision : {"fp32", "bf16"}) {
    for (const Peaks& rank : measure_ranks("test_block_shard", precision)) {
      ASSERT_TRUE(rank.status.ok()) << rank.status.reason;
      EXPECT_GT(rank.forward_backward, 0.5 * rank.parameter_bytes) << "parameters and gradients";
      EXPECT_LT(rank.forward_backward, rank.parameter_bytes) << precision;
      EXPECT_LT(rank.train_step, 2.5 * rank.parameter_bytes) << precision;
      if (precision == "fp32") expect_sharded_moments(rank);
    }
  }
}

TEST(FlatShard, MomentsExistForASliceAlone) {
  for (const Peaks& rank : measure_ranks("test_flat_shard", "fp32")) {
    ASSERT_TRUE(rank.status.ok()) << rank.status.reason;
    EXPECT_GT(rank.forward_backward, 2 * rank.parameter_bytes) << "they are whole";
    expect_sharded_moments(rank);
  }
}

}  // namespace
}  // namespace assay
