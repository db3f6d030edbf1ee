#include <ATen/ops/ones.h>
#include <assay/mesh.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "training/counted_backend.h"

namespace assay {
namespace {

class NotedWork final : public c10d::Work {
 public:
  NotedWork(std::string& events, c10::intrusive_ptr<c10::ivalue::Future> future)
      : events_(events), future_(std::move(future)) {}
  ~NotedWork() override { events_ += "freed "; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  bool isCompleted() override { return true; }
  bool wait(std::chrono::milliseconds) override {
    events_ += "done ";
    return true;
  }

 private:
  std::string& events_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class TwoRanks final : public c10d::Backend {
 public:
  explicit TwoRanks(std::string& events) : Backend(0, 2), events_(events) {}
  using Work = c10::intrusive_ptr<c10d::Work>;
  Work allreduce(std::vector<at::Tensor>&, const c10d::AllreduceOptions&) override {
    return launched();
  }
  Work _allgather_base(at::Tensor&, at::Tensor&, const c10d::AllgatherOptions&) override {
    return launched();
  }
  Work _reduce_scatter_base(at::Tensor&, at::Tensor&, const c10d::ReduceScatterOptions&) override {
    return launched();
  }

  c10::intrusive_ptr<c10::ivalue::Future> future;  // of every work

 private:
  Work launched() {
    events_ += "launched ";
    return c10::make_intrusive<NotedWork>(events_, future);
  }
  std::string& events_;
};

class NotedTrace final : public TraceBoundary {
 public:
  NotedTrace(std::string& events, bool takes_spans) : events_(events), takes_spans_(takes_spans) {}
  std::int64_t phase(std::string_view) noexcept override { return 0; }
  std::int64_t span(std::string_view part, std::string_view lane) noexcept override {
    events_.append(part).append("@").append(lane).append(" ");
    return 1;
  }
  void end(std::int64_t) noexcept override {
    events_ += "end ";
    if (at_end) at_end();
  }
  bool takes_spans() const noexcept override { return takes_spans_; }

  std::function<void()> at_end;

 private:
  std::string& events_;
  bool takes_spans_;
};

TEST(CountedMesh, CountsCallsAndTheWholeTensorsBytes) {
  std::string events;
  const auto traffic = std::make_shared<Traffic>();
  const Mesh mesh = counted(Mesh({0, 2, c10::make_intrusive<TwoRanks>(events)}), traffic);
  const Group group = mesh.world();
  EXPECT_EQ(group.rank, 0);
  EXPECT_EQ(group.size, 2);
  at::Tensor whole = at::ones({6}, at::kFloat);
  at::Tensor half = at::ones({3}, at::kFloat);
  std::vector<at::Tensor> tensors = {whole};
  group.backend->allreduce(tensors)->wait();
  group.backend->_allgather_base(whole, half)->wait();
  group.backend->_reduce_scatter_base(half, whole)->wait();
  mesh.world().backend->_reduce_scatter_base(half, whole)->wait();

  const auto sent = traffic->sent();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].collective, "all_gather");
  EXPECT_EQ(sent[0].calls, 1);
  EXPECT_EQ(sent[0].bytes, 24);
  EXPECT_EQ(sent[1].collective, "all_reduce");
  EXPECT_EQ(sent[1].bytes, 24);
  EXPECT_EQ(sent[2].collective, "reduce_scatter");
  EXPECT_EQ(sent[2].calls, 2);
  EXPECT_EQ(sent[2].bytes, 48);
  traffic->clear();
  EXPECT_TRUE(traffic->sent().empty());
}

TEST(CountedMesh, ACollectiveIsASpanUntilItIsWaitedFor) {
  for (const bool takes_spans : {false, true}) {
    std::string events;
    NotedTrace trace(events, takes_spans);
    const Mesh mesh = counted(Mesh({0, 2, c10::make_intrusive<TwoRanks>(events)}),
                              std::make_shared<Traffic>(), &trace);
    std::vector<at::Tensor> tensors = {at::ones({6}, at::kFloat)};
    const auto work = mesh.world().backend->allreduce(tensors);
    events += "other ";
    work->wait();
    EXPECT_EQ(events, takes_spans
                          ? "all_reduce@world launch@world waits launched end other wait@world "
                            "waits done end end "
                          : "launched other done ");
  }
}

// A collective that another thread finishes while the caller does something else.
TEST(CountedMesh, ASpanEndsWhenTheCollectiveIsDoneIfNobodyWaitsYet) {
  std::string events;
  NotedTrace trace(events, /*takes_spans=*/true);
  const auto ranks = c10::make_intrusive<TwoRanks>(events);
  const auto done = c10::make_intrusive<c10::ivalue::Future>(c10::NoneType::get());
  ranks->future = done;
  const Mesh mesh = counted(Mesh({0, 2, ranks}), std::make_shared<Traffic>(), &trace);
  std::vector<at::Tensor> tensors = {at::ones({6}, at::kFloat)};
  const auto work = mesh.world().backend->allreduce(tensors);
  done->markCompleted();
  events += "other ";
  work->wait();
  EXPECT_EQ(events,
            "all_reduce@world launch@world waits launched end end other "
            "wait@world waits done end ");
}

// c10d's Reducer waits for futures alone, and goes on, perhaps to its end, as soon as one is
// complete.
TEST(CountedMesh, ASpanEndsBeforeWhoeverWaitsForTheFutureGoesOn) {
  std::string events;
  NotedTrace trace(events, /*takes_spans=*/true);
  const auto ranks = c10::make_intrusive<TwoRanks>(events);
  const auto done = c10::make_intrusive<c10::ivalue::Future>(c10::NoneType::get());
  ranks->future = done;
  const Mesh mesh = counted(Mesh({0, 2, ranks}), std::make_shared<Traffic>(), &trace);
  std::vector<at::Tensor> tensors = {at::ones({6}, at::kFloat)};
  const auto work = mesh.world().backend->allreduce(tensors);
  const auto future = work->getFuture();
  events.clear();
  trace.at_end = [&] { events += future->completed() ? "too late " : "in time "; };
  done->markCompleted();
  EXPECT_TRUE(future->completed());
  EXPECT_EQ(events, "end in time ");
}

TEST(CountedMesh, AFailedCollectivesFutureFailsToo) {
  std::string events;
  NotedTrace trace(events, /*takes_spans=*/true);
  const auto ranks = c10::make_intrusive<TwoRanks>(events);
  ranks->future = c10::make_intrusive<c10::ivalue::Future>(c10::NoneType::get());
  const Mesh mesh = counted(Mesh({0, 2, ranks}), std::make_shared<Traffic>(), &trace);
  std::vector<at::Tensor> tensors = {at::ones({6}, at::kFloat)};
  const auto future = mesh.world().backend->allreduce(tensors)->getFuture();
  ranks->future->setError(std::make_exception_ptr(std::runtime_error("a rank is lost")));
  EXPECT_TRUE(future->hasError());
  EXPECT_EQ(future->tryRetrieveErrorMessage(), "a rank is lost");
}

// A work that another thread holds is freed here all the same, when that thread has let go of it.
TEST(LentWorks, AreFreedByWhoLentThem) {
  std::string events;
  training::LentWorks lent;
  training::WorkPointer work = c10::make_intrusive<NotedWork>(events, nullptr);
  training::WorkPointer held = work;
  lent.keep(std::move(work));
  held.reset();
  EXPECT_EQ(events, "");
  lent.await();
  EXPECT_EQ(events, "freed ");
}

TEST(LentWorks, ArePatientlyAwaitedWhereMemoryCounts) {
  std::string events;
  training::LentWorks lent;
  const training::LentWorks::Patience patience(lent);
  training::WorkPointer work = c10::make_intrusive<NotedWork>(events, nullptr);
  training::WorkPointer held = work;
  const std::jthread other([&] { held.reset(); });
  lent.keep(std::move(work));
  EXPECT_EQ(events, "freed ");
}

TEST(CountedMesh, OneRankHasNoBackend) {
  const Mesh mesh = counted(Mesh(), std::make_shared<Traffic>());
  EXPECT_EQ(mesh.world().size, 1);
  EXPECT_FALSE(mesh.world().backend);
}

TEST(Mesh, NamesTheGroupsThereAreWhereOneIsMissing) {
  const Mesh mesh;
  EXPECT_EQ(mesh.group_or_world("shard").size, 1);
  try {
    mesh.group("shard");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "the ranks have no group 'shard'; they have: world");
  }
}

}  // namespace
}  // namespace assay
