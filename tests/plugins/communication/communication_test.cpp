#include <ATen/ops/tensor.h>
#include <assay/gradient_place.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "done_work.h"
#include "plugins/support.h"
#include "trained_together.h"

namespace assay {
namespace {

// Stands for a second rank: all-reduce adds that rank's part, broadcast brings rank 0's.
class OtherRank final : public c10d::Backend {
 public:
  OtherRank(std::vector<at::Tensor> adds, std::vector<at::Tensor> brings)
      : Backend(1, 2), adds_(std::move(adds)), brings_(std::move(brings)) {}

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions&) override {
    tensors.at(0).add_(adds_.at(reductions++));
    return c10::make_intrusive<test::DoneWork>();
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions&) override {
    tensors.at(0).copy_(brings_.at(broadcasts++));
    return c10::make_intrusive<test::DoneWork>();
  }

  std::size_t reductions = 0;
  std::size_t broadcasts = 0;

 private:
  std::vector<at::Tensor> adds_;
  std::vector<at::Tensor> brings_;
};

at::Tensor floats(std::vector<double> values) { return at::tensor(values, at::kFloat); }

TrainedModel model_of(const std::vector<at::Tensor>& parameters) {
  TrainedModel model;
  model.blocks.push_back({"block", {}});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    model.parameters.push_back({std::to_string(i), parameters[i]});
    model.blocks[0].parameters.push_back(i);
  }
  return model;
}

TEST(NaiveCommunication, StartsFromRankZeroAndAveragesEveryGradient) {
  const std::vector<at::Tensor> parameters = {floats({1, 2}).requires_grad_(),
                                              floats({3}).requires_grad_(), floats({4})};
  const auto other = c10::make_intrusive<OtherRank>(
      std::vector<at::Tensor>{floats({10, 20}), floats({8})},
      std::vector<at::Tensor>{floats({5, 6}), floats({7}), floats({9})});
  const auto plugin = test::load<CommunicationBoundary>("communication", "naive", "naive");
  throw_unless_ok(plugin->attach(model_of(parameters), Mesh({1, 2, other}), {}));
  EXPECT_TRUE(parameters[0].detach().equal(floats({5, 6})));
  EXPECT_TRUE(parameters[1].detach().equal(floats({7})));
  EXPECT_TRUE(parameters[2].equal(floats({9})));

  parameters[0].mutable_grad() = floats({2, 4});  // the second parameter was not used here
  throw_unless_ok(plugin->backward_finished());
  EXPECT_TRUE(parameters[0].grad().equal(floats({6, 12})));
  EXPECT_TRUE(parameters[1].grad().equal(floats({4})));
  EXPECT_EQ(other->reductions, 2u) << "a frozen parameter has no gradient to send";
}

TEST(NaiveCommunication, OneRankHasNothingToDo) {
  const std::vector<at::Tensor> parameters = {floats({1, 2}).requires_grad_()};
  const auto plugin = test::load<CommunicationBoundary>("communication", "naive", "naive");
  throw_unless_ok(plugin->attach(model_of(parameters), Mesh(), {}));
  parameters[0].mutable_grad() = floats({2, 4});
  throw_unless_ok(plugin->backward_finished());
  EXPECT_TRUE(parameters[0].grad().equal(floats({2, 4})));
}

// One rank's steps of `bucketed`, whose gradients are 6 and 7, 8.
class BucketedCommunication : public testing::Test {
 protected:
  BucketedCommunication() { throw_unless_ok(plugin_->attach(model_of(parameters_), Mesh(), {})); }

  // takes: gradients are written where they are wanted, if somewhere. How many were.
  int step(bool takes) {
    const std::vector<at::Tensor> values = {floats({6}), floats({7, 8})};
    std::vector<const void*> written;
    throw_unless_ok(plugin_->backward_begins(floats({0})));
    for (std::size_t i = 0; i < values.size(); ++i) {
      at::Tensor place = takes ? take_gradient_place(parameters_[i]) : at::Tensor();
      if (place.defined()) written.push_back(place.copy_(values[i]).const_data_ptr());
      parameters_[i].mutable_grad() = place.defined() ? std::move(place) : values[i].clone();
      throw_unless_ok(plugin_->gradient_ready(i));
    }
    throw_unless_ok(plugin_->backward_finished());
    for (std::size_t i = 0; i < values.size(); ++i) {
      at::Tensor gradient = std::exchange(parameters_[i].mutable_grad(), at::Tensor());
      EXPECT_TRUE(gradient.equal(values[i]));
      if (!written.empty()) {
        EXPECT_EQ(gradient.const_data_ptr(), written.at(i));
      }
    }
    return static_cast<int>(written.size());
  }

  const std::vector<at::Tensor> parameters_ = {floats({1}).requires_grad_(),
                                               floats({2, 3}).requires_grad_()};
  std::unique_ptr<CommunicationBoundary> plugin_ = test::make_variant(test::setup_of("bucketed"));
};

// Buckets are made in the second step, when the order is known.
TEST_F(BucketedCommunication, OffersPlacesInItsBuckets) {
  for (const int taken : {0, 0, 2, 2}) EXPECT_EQ(step(true), taken);
}

TEST_F(BucketedCommunication, OffersNoPlacesThatNobodyTakes) {
  for (int i = 0; i < 3; ++i) step(false);
  EXPECT_FALSE(take_gradient_place(parameters_[0]).defined()) << "the offer is taken back";
  EXPECT_EQ(step(true), 0);
}

// One in fp32 has no values that autograd could add to those of a second use.
TEST(WidePlaces, AreOfferedToWeightsOf16BitsThatAreUsedOnce) {
  const std::vector<at::Tensor> parameters = {floats({1, 2}).requires_grad_(),
                                              floats({3, 4}).requires_grad_()};
  TrainedModel model = model_of(parameters);
  for (ModelParameter& parameter : model.parameters) parameter.compute = at::kBFloat16;
  const auto plugin = test::make_variant(test::setup_of("bucketed"));
  throw_unless_ok(plugin->attach(model, Mesh(), {}));
  at::Tensor place;
  for (int step = 0; step < 3; ++step) {
    const at::Tensor loss = (parameters[0] * 2 + parameters[1] * parameters[1]).sum();
    throw_unless_ok(plugin->backward_begins(loss));
    place = take_gradient_place(parameters[0]);
    EXPECT_FALSE(take_gradient_place(parameters[1]).defined());
    if (place.defined()) place.fill_(1.00001);
    for (std::size_t i = 0; i < 2; ++i) {
      parameters[i].mutable_grad() = i == 0 && place.defined() ? gradient_at(place, at::kBFloat16)
                                                               : at::ones({2}, at::kBFloat16);
      throw_unless_ok(plugin->gradient_ready(i));
    }
    throw_unless_ok(plugin->backward_finished());
    for (const at::Tensor& parameter : parameters) parameter.mutable_grad() = at::Tensor();
  }
  ASSERT_TRUE(place.defined());
  EXPECT_EQ(place.scalar_type(), at::kFloat);
  EXPECT_TRUE(place.equal(floats({1.00001F, 1.00001F}))) << "no copy has gone over it";
}

class Notes final : public Communication {
 public:
  explicit Notes(bool wants_hooks) : wants_hooks_(wants_hooks) {}

  void attach(const TrainedModel& model, const Mesh&, TraceHandle) override {
    parameter_count = model.parameters.size();
    for (const auto& block : model.blocks) blocks.append(block.name).append(" ");
  }
  void before_forward(int block) override { note("(", block); }
  void after_forward(int block) override { note(")", block); }
  void before_backward(int block) override { note("[", block); }
  void after_backward(int block) override { note("]", block); }
  void backward_begins(const at::Tensor& loss) override {
    EXPECT_TRUE(loss.requires_grad());
    note("begins ");
  }
  void gradient_ready(std::size_t) override { ++ready; }
  void backward_finished() override { note("finished "); }
  void after_step() override { note("stepped "); }
  bool wants_blocks() const override { return wants_hooks_; }
  bool wants_gradient_ready() const override { return wants_hooks_; }

  std::size_t parameter_count = 0;
  std::size_t ready = 0;
  std::string blocks;
  std::string calls;

 private:
  void note(const char* what, int block) { calls.append(what).append(std::to_string(block)); }
  void note(const char* what) { calls.append(what); }

  bool wants_hooks_;
};

std::shared_ptr<Notes> notes_of_a_step(bool wants_hooks) {
  auto tested = test::make_case({"model_step"});
  test::set_model(tested.context, "gelu", 1, 8);
  auto notes = std::make_shared<Notes>(wants_hooks);
  detail::CommunicationGuard guard(notes);
  tested.context.communication = &guard;
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(tested.workload->build(tested.context, program));
  throw_unless_ok(program->before("train_step"));
  throw_unless_ok(program->run("train_step"));
  return notes;
}

TEST(Communication, IsCalledInTheOrderOfAStep) {
  const auto notes = notes_of_a_step(true);
  EXPECT_EQ(notes->blocks, "embedding blocks.0 blocks.1 head ");
  EXPECT_EQ(notes->calls, "(0)0(1)1(2)2(3)3begins [3]3[2]2[1]1[0]0finished stepped ");
  EXPECT_GT(notes->parameter_count, 10u);
  EXPECT_EQ(notes->ready, notes->parameter_count);
}

TEST(Communication, GetsNoHooksItDoesNotWant) {
  const auto notes = notes_of_a_step(false);
  EXPECT_EQ(notes->calls, "begins finished stepped ");
  EXPECT_EQ(notes->ready, 0u);
}

}  // namespace
}  // namespace assay
