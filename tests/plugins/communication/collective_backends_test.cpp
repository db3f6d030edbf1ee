// The collective workload over backends that stand for others.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "collective_case.h"
#include "done_work.h"
#include "plugins/recorded.h"

namespace assay {
namespace {

using Tensors = std::vector<at::Tensor>;
using Work = c10::intrusive_ptr<c10d::Work>;

// Hands on what lone calls need; its barrier takes a quarter of a second.
class SlowToMeet final : public c10d::Backend {
 public:
  explicit SlowToMeet(c10::intrusive_ptr<c10d::Backend> backend)
      : Backend(backend->getRank(), backend->getSize()), backend_(std::move(backend)) {}
  const std::string getBackendName() const override { return backend_->getBackendName(); }
  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return backend_->allreduce(tensors, options);
  }
  Work _allgather_base(at::Tensor& out, at::Tensor& in,
                       const c10d::AllgatherOptions& options) override {
    return backend_->_allgather_base(out, in, options);
  }
  Work barrier(const c10d::BarrierOptions& options) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    return backend_->barrier(options);
  }

 private:
  c10::intrusive_ptr<c10d::Backend> backend_;
};

// A second has room for four of them, and five are the fewest.
TEST(LoneCalls, TakeNoMoreThanASecondWithTheirStarts) {
  test::on_ranks(2, [](const Group& group) {
    Group slow = group;
    slow.backend = c10::make_intrusive<SlowToMeet>(group.backend);
    const auto tested = test::collective_case(slow, 1000, {{"lone_calls", test::integer(20)}});
    const auto recorded = test::recorded(tested, "collective", "all_reduce");
    EXPECT_EQ(recorded.samples("lone_time").size(), 5u);
  });
}

// 200 sums over their inputs would leave fp32's range, on two ranks after 128.
TEST(LoneCalls, OfSumsInPlaceStayFinite) {
  test::on_ranks(2, [](const Group& group) {
    const auto tested = test::collective_case(group, 16, {{"lone_calls", test::integer(200)}});
    const auto program = test::build(tested);
    throw_unless_ok(program->before("all_reduce"));
    throw_unless_ok(program->run("all_reduce"));
    const test::Recorded recorded("collective", *program, "all_reduce");
    EXPECT_FALSE(recorded.samples("lone_time").empty());
    const auto left = test::output(*program, "all_reduce");
    EXPECT_TRUE(std::ranges::all_of(left, [](float value) { return std::isfinite(value); }));
    throw_unless_ok(program->before("all_reduce"));
    throw_unless_ok(program->run("all_reduce"));
    EXPECT_EQ(test::output(*program, "all_reduce"), (std::vector<float>{5, 7, 9, 11}));
  });
}

// Leaves the second element of sums as it is, once it has summed for a while. Agreements between
// the ranks, in doubles, stay.
class Forgetful final : public c10d::Backend {
 public:
  explicit Forgetful(c10::intrusive_ptr<c10d::Backend> backend)
      : Backend(backend->getRank(), backend->getSize()), backend_(std::move(backend)) {}
  const std::string getBackendName() const override { return backend_->getBackendName(); }
  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    const at::Tensor kept = tensors.front()[1].clone();
    backend_->allreduce(tensors, options)->wait();
    if (++calls_ > 6 && getRank() == 0) tensors.front()[1].copy_(kept);
    return c10::make_intrusive<test::DoneWork>();
  }
  Work _allgather_base(at::Tensor& out, at::Tensor& in,
                       const c10d::AllgatherOptions& options) override {
    return backend_->_allgather_base(out, in, options);
  }
  Work barrier(const c10d::BarrierOptions& options) override { return backend_->barrier(options); }

 private:
  c10::intrusive_ptr<c10d::Backend> backend_;
  int calls_ = 0;
};

// Wrong on one rank, and both end.
TEST(LoneCalls, AreLookedAt) {
  test::on_ranks(2, [](const Group& group) {
    Group forgetful = group;
    forgetful.backend = c10::make_intrusive<Forgetful>(group.backend);
    const auto tested = test::collective_case(forgetful, 1000, {{"lone_calls", test::integer(20)}});
    const auto program = test::build(tested);
    throw_unless_ok(program->before("all_reduce"));
    throw_unless_ok(program->run("all_reduce"));
    PluginDescription description;
    throw_unless_ok(test::entry("workload", "collective", "collective").describe(description));
    worker::CaseRecorder recorder(0, "", {});
    recorder.begin("all_reduce", "it", description.workload.metrics);
    const Status status = program->record("all_reduce", recorder);
    EXPECT_EQ(status.outcome, Outcome::wrong);
    EXPECT_NE(status.reason.find("in a lone call"), std::string::npos) << status.reason;
  });
}

// Receives what it sent itself.
class Echo final : public c10d::Backend {
 public:
  Echo(int rank, int size) : Backend(rank, size) {}
  const std::string getBackendName() const override { return "gloo"; }
  Work send(Tensors& tensors, int, int) override {
    sent_ = tensors.front();
    return c10::make_intrusive<test::DoneWork>();
  }
  Work recv(Tensors& tensors, int, int) override {
    tensors.front().copy_(sent_);
    return c10::make_intrusive<test::DoneWork>();
  }

 private:
  at::Tensor sent_;
};

// With so many ranks bf16 has few numbers whose sums are exact.
TEST(CollectiveWorkload, KnowsEachOfManyRanksByItsNumbers) {
  for (const char* dtype : {"fp32", "bf16"}) {
    for (const int ranks : {2, 17, 43, 64, 128, 200}) {
      const Group group = {1, ranks, c10::make_intrusive<Echo>(1, ranks)};
      const auto tested = test::collective_case(group, 1000, {{"dtype", std::string(dtype)}});
      const auto verification = test::verify(tested, "send_recv");
      EXPECT_TRUE(verification.checked);
      EXPECT_GT(verification.error, verification.tolerance) << ranks << " ranks in " << dtype;
    }
  }
}

TEST(CollectiveWorkload, RefusesMoreRanksThanADtypeCanSumExactly) {
  const Group group = {0, 257, c10::make_intrusive<Echo>(0, 257)};
  const auto tested = test::collective_case(group, 1000, {{"dtype", std::string("bf16")}});
  std::unique_ptr<ProgramBoundary> program;
  const Status status = tested.workload->build(tested.context, program);
  EXPECT_EQ(status.outcome, Outcome::unsupported);
  EXPECT_EQ(status.reason, "sums over 257 ranks are not exact in this dtype");
}

class CalledNccl final : public c10d::Backend {
 public:
  CalledNccl() : Backend(0, 2) {}
  const std::string getBackendName() const override { return "nccl"; }
};

TEST(CollectiveWorkload, C10dHasOneWayToSendAndReceiveOverNccl) {
  const Group group = {0, 2, c10::make_intrusive<CalledNccl>()};
  const auto tested = test::collective_case(group, 1000, {{"layer", std::string("c10d_async")}});
  Verification verification;
  const Status status = tested.workload->verify(tested.context, "send_recv", verification);
  EXPECT_EQ(status.outcome, Outcome::unsupported);
  EXPECT_EQ(status.reason,
            "c10d sends and receives on NCCL's stream whoever calls: layer c10d has its time");
}

}  // namespace
}  // namespace assay
