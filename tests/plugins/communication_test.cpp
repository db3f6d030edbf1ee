#include <ATen/ops/tensor.h>

#include "support.h"

namespace assay {
namespace {

class DoneWork final : public c10d::Work {
 public:
  bool wait(std::chrono::milliseconds) override { return true; }
};

// Stands for a second rank: all-reduce adds that rank's part, broadcast brings rank 0's.
class OtherRank final : public c10d::Backend {
 public:
  OtherRank(std::vector<at::Tensor> adds, std::vector<at::Tensor> brings)
      : Backend(1, 2), adds_(std::move(adds)), brings_(std::move(brings)) {}

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions&) override {
    tensors.at(0).add_(adds_.at(reductions++));
    return c10::make_intrusive<DoneWork>();
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions&) override {
    tensors.at(0).copy_(brings_.at(broadcasts++));
    return c10::make_intrusive<DoneWork>();
  }

  std::size_t reductions = 0;
  std::size_t broadcasts = 0;

 private:
  std::vector<at::Tensor> adds_;
  std::vector<at::Tensor> brings_;
};

at::Tensor floats(std::vector<double> values) { return at::tensor(values, at::kFloat); }

TEST(NaiveCommunication, StartsFromRankZeroAndAveragesEveryGradient) {
  const std::vector<at::Tensor> parameters = {floats({1, 2}).requires_grad_(),
                                              floats({3}).requires_grad_()};
  const auto other =
      c10::make_intrusive<OtherRank>(std::vector<at::Tensor>{floats({10, 20}), floats({8})},
                                     std::vector<at::Tensor>{floats({5, 6}), floats({7})});
  const auto plugin = test::load<CommunicationBoundary>("communication", "naive", "naive");
  throw_unless_ok(plugin->attach(parameters, {1, 2, other}));
  EXPECT_TRUE(parameters[0].detach().equal(floats({5, 6})));
  EXPECT_TRUE(parameters[1].detach().equal(floats({7})));

  parameters[0].mutable_grad() = floats({2, 4});  // the second parameter was not used here
  throw_unless_ok(plugin->backward_finished());
  EXPECT_TRUE(parameters[0].grad().equal(floats({6, 12})));
  EXPECT_TRUE(parameters[1].grad().equal(floats({4})));
  EXPECT_EQ(other->reductions, 2u);
}

TEST(NaiveCommunication, OneRankHasNothingToDo) {
  const std::vector<at::Tensor> parameters = {floats({1, 2}).requires_grad_()};
  const auto plugin = test::load<CommunicationBoundary>("communication", "naive", "naive");
  throw_unless_ok(plugin->attach(parameters, {}));
  parameters[0].mutable_grad() = floats({2, 4});
  throw_unless_ok(plugin->backward_finished());
  EXPECT_TRUE(parameters[0].grad().equal(floats({2, 4})));
}

class Notes final : public CommunicationBoundary {
 public:
  Status attach(const std::vector<at::Tensor>& parameters, const Group&) noexcept override {
    parameter_count = parameters.size();
    return {};
  }
  Status before_block(int block) noexcept override { return note("<", block); }
  Status after_block(int block) noexcept override { return note(">", block); }
  Status gradient_ready(std::size_t) noexcept override {
    ++ready;
    return {};
  }
  Status backward_finished() noexcept override { return note("finished", -1); }
  Status owned_parameters(std::vector<std::size_t>&) noexcept override { return {}; }
  Status after_step() noexcept override { return note("stepped", -1); }
  Status traits(CommunicationTraits& traits) noexcept override {
    traits.wants_gradient_ready = true;
    return {};
  }

  std::size_t parameter_count = 0;
  std::size_t ready = 0;
  std::string calls;

 private:
  Status note(const char* what, int block) noexcept {
    calls.append(what);
    if (block >= 0) calls.append(std::to_string(block));
    calls.append(" ");
    return {};
  }
};

TEST(Communication, IsCalledInTheOrderOfAStep) {
  auto tested = test::make_case({"model_step"});
  test::set_model(tested.context, "gelu", 1, 8);
  Notes notes;
  tested.context.communication = &notes;
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(tested.workload->build(tested.context, program));
  throw_unless_ok(program->before("train_step"));
  throw_unless_ok(program->run("train_step"));
  EXPECT_EQ(notes.calls, "<0 >0 <1 >1 finished stepped ");
  EXPECT_GT(notes.parameter_count, 10u);
  EXPECT_EQ(notes.ready, notes.parameter_count);
}

}  // namespace
}  // namespace assay
