#include "training/counted_backend.h"

#include <assay/range.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#ifdef ASSAY_WITH_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace assay::training {

namespace {

using Tensors = CountedBackend::Tensors;
using TensorLists = CountedBackend::TensorLists;

std::int64_t bytes_of(const Tensors& tensors) {
  std::int64_t bytes = 0;
  for (const auto& tensor : tensors) {
    bytes += tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
  }
  return bytes;
}

Tensors flattened(const TensorLists& lists) {
  Tensors all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::atomic<CollectiveListener> listener_of_collectives = nullptr;

// Those whose tensors are the same on all ranks.
bool is_alike_on_all_ranks(std::string_view collective) {
  return collective == "broadcast" || collective == "all_reduce" || collective == "reduce" ||
         collective == "all_gather" || collective == "reduce_scatter";
}

void tell(const std::string& lane, std::string_view collective, const Tensors& payload) {
  const CollectiveListener listener = listener_of_collectives;
  if (listener == nullptr || lane != "world" || !is_alike_on_all_ranks(collective)) return;
  const auto dtype = payload.empty() ? "" : c10::toString(payload.front().scalar_type());
  listener(fmt::format("{} of {} bytes of {}", collective, bytes_of(payload), dtype));
}

}  // namespace

void tell_of_collectives(CollectiveListener listener) { listener_of_collectives = listener; }

// Work that hands everything on, and notes as a span how long the caller waits for it: the host on
// a CPU, the current stream on a GPU.
class CountedBackend::SpannedWork : public c10d::Work {
 public:
  SpannedWork(WorkPointer work, TraceHandle trace, std::string lane)
      : work_(std::move(work)), trace_(trace), lane_(std::move(lane)) {}

  bool isCompleted() override { return work_->isCompleted(); }
  bool isSuccess() const override { return work_->isSuccess(); }
  std::exception_ptr exception() const override { return work_->exception(); }
  int sourceRank() const override { return work_->sourceRank(); }
  std::vector<at::Tensor> result() override { return work_->result(); }
  void synchronize() override {
    const TraceScope waiting = wait_span();
    work_->synchronize();
  }
  bool wait(std::chrono::milliseconds timeout) override {
    const TraceScope waiting = wait_span();
    return work_->wait(timeout);
  }
  void abort() override { work_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return work_->getFuture(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override {
    return work_->getFutureResult();
  }
  float getDuration() const override { return work_->getDuration(); }
  std::uint64_t getSequencenumber() const override { return work_->getSequencenumber(); }

 protected:
  WorkPointer work_;

 private:
  TraceScope wait_span() const {
    return trace_.takes_spans() ? trace_.span("wait", lane_ + waits_lane) : TraceScope();
  }

  TraceHandle trace_;
  std::string lane_;
};

// The span of a collective on the host, which ends when it is done or waited for, on whichever
// thread that is: with a GPU's tensors its moments are those of a stream of that GPU.
struct CountedBackend::HostSpan {
  HostSpan(const TraceHandle& trace, const std::string& collective, const std::string& lane,
           const at::Tensor& payload) {
#ifdef ASSAY_WITH_CUDA
    if (payload.is_cuda()) stream = c10::cuda::getStreamFromPool(false, payload.get_device());
    const c10::cuda::OptionalCUDAStreamGuard guard(stream);
#else
    static_cast<void>(payload);
#endif
    scope = trace.span(collective, lane);
  }
  void end() {
    const std::lock_guard lock(mutex);
#ifdef ASSAY_WITH_CUDA
    const c10::cuda::OptionalCUDAStreamGuard guard(stream);
#endif
    scope.end();
  }
  std::mutex mutex;
#ifdef ASSAY_WITH_CUDA
  std::optional<c10::cuda::CUDAStream> stream;
#endif
  TraceScope scope;
};

// Work on a CPU's tensors. Gloo's thread lets go of it a moment after it is done; if that were the
// last to hold the tensors, they would be freed on a thread whose memory nobody counts.
class CountedBackend::HostWork final : public SpannedWork {
 public:
  HostWork(WorkPointer work, TraceHandle trace, const std::string& lane,
           std::shared_ptr<HostSpan> span, std::shared_ptr<LentWorks> lent)
      : SpannedWork(std::move(work), trace, lane), span_(std::move(span)), lent_(std::move(lent)) {
    if (!span_) return;
    // Not every work has a future; its span ends when it is waited for.
    static_cast<void>(guarded([&] {
      if (const auto future = work_->getFuture()) spanned_ = ending_span(*future);
    }));
  }
  ~HostWork() override { lent_->keep(std::move(work_)); }

  // Who waits for it, as c10d's Reducer does, goes on when the span has ended.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    return spanned_ ? spanned_ : SpannedWork::getFuture();
  }

  void synchronize() override {
    SpannedWork::synchronize();
    if (span_) span_->end();
  }
  bool wait(std::chrono::milliseconds timeout) override {
    const bool done = SpannedWork::wait(timeout);
    if (span_) span_->end();
    return done;
  }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> ending_span(c10::ivalue::Future& future) const {
    return future.then(
        [span = span_](c10::ivalue::Future& done) {
          span->end();
          return done.value();
        },
        future.elementType());
  }

  std::shared_ptr<HostSpan> span_;                   // null where no spans are taken
  c10::intrusive_ptr<c10::ivalue::Future> spanned_;  // null without a span or a future
  std::shared_ptr<LentWorks> lent_;
};

namespace {

// A second at most.
void yield_until(const auto& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!is_so() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

#ifdef ASSAY_WITH_CUDA

// A stream that follows each collective: where it waits for the work, the span's end is the
// collective's, whatever the calling stream does meanwhile. Since it also waits for the collective
// before, a span begins when its own can.
WorkPointer spanned_on_device(TraceHandle trace, const std::string& collective,
                              const std::string& lane, c10::cuda::CUDAStream follower,
                              const std::function<WorkPointer()>& call) {
  at::cuda::CUDAEvent reached;
  reached.record(c10::cuda::getCurrentCUDAStream(follower.device_index()));
  reached.block(follower);
  TraceScope scope;
  {
    const c10::cuda::CUDAStreamGuard guard(follower);
    scope = trace.span(collective, lane);
  }
  WorkPointer work = call();
  if (!work) return work;
  const c10::cuda::CUDAStreamGuard guard(follower);
  // Not Work::wait(), which lets go of the tensors: the caller's stream may reuse their memory.
  if (const auto future = work->getFuture()) future->wait();
  scope.end();
  return work;
}

#endif

}  // namespace

void LentWorks::free_returned() {
  std::erase_if(works_, [](const WorkPointer& work) { return work.use_count() == 1; });
}

void LentWorks::keep(WorkPointer work) {
  if (is_patient_ && work->isCompleted()) {
    yield_until([&] { return work.use_count() == 1; });
  }
  const std::lock_guard lock(mutex_);
  free_returned();
  if (work.use_count() > 1) works_.push_back(std::move(work));
}

void LentWorks::await() {
  const std::lock_guard lock(mutex_);
  yield_until([&] {
    free_returned();
    return works_.empty();
  });
}

CountedBackend::CountedBackend(c10::intrusive_ptr<c10d::Backend> backend, std::string lane,
                               std::shared_ptr<Traffic> traffic, TraceHandle trace,
                               std::shared_ptr<LentWorks> lent)
    : Backend(backend->getRank(), backend->getSize()),
      backend_(std::move(backend)),
      lane_(std::move(lane)),
      traffic_(std::move(traffic)),
      trace_(trace),
      lent_(std::move(lent)) {
  if (const auto device = backend_->getBoundDeviceId()) setBoundDeviceId(device);
}

WorkPointer CountedBackend::counted(const char* collective, const Tensors& payload,
                                    const std::function<WorkPointer()>& call) {
  const Range range("communication");
  if (traffic_) traffic_->add(collective, bytes_of(payload));
  tell(lane_, collective, payload);
  if (payload.empty()) return call();
  if (coalescing_) {
    coalesced_ = {collective, payload.front()};
    return call();
  }
  return spanned(collective, payload.front(), call);
}

WorkPointer CountedBackend::spanned(const std::string& collective, const at::Tensor& payload,
                                    const std::function<WorkPointer()>& call) {
  const bool takes_spans = trace_.takes_spans();
  // Gloo works on the host with any device's tensors.
  if (!payload.is_cpu() && getBackendName() != "gloo") {
#ifdef ASSAY_WITH_CUDA
    if (takes_spans) {
      const c10::DeviceIndex device = payload.get_device();
      if (!followers_.contains(device)) {
        followers_.emplace(device, c10::cuda::getStreamFromPool(false, device).unwrap());
      }
      const c10::cuda::CUDAStream follower(followers_.at(device));
      WorkPointer work = spanned_on_device(trace_, collective, lane_, follower, call);
      if (!work) return work;
      return c10::make_intrusive<SpannedWork>(std::move(work), trace_, lane_);
    }
#endif
    return call();
  }
  std::shared_ptr<HostSpan> span;
  if (takes_spans) span = std::make_shared<HostSpan>(trace_, collective, lane_, payload);
  // A CPU that launches does nothing else meanwhile.
  TraceScope launching = takes_spans ? trace_.span("launch", lane_ + waits_lane) : TraceScope();
  WorkPointer work = call();
  launching.end();
  if (!work) return work;
  return c10::make_intrusive<HostWork>(std::move(work), trace_, lane_, std::move(span), lent_);
}

void CountedBackend::startCoalescing() {
  backend_->startCoalescing();
  coalescing_ = true;
}

// The calls between are launched here, as one.
WorkPointer CountedBackend::endCoalescing() {
  coalescing_ = false;
  const auto end = [&] { return backend_->endCoalescing(); };
  const auto [collective, payload] = std::exchange(coalesced_, {});
  return payload.defined() ? spanned(collective, payload, end) : end();
}

WorkPointer CountedBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  return counted("broadcast", tensors, [&] { return backend_->broadcast(tensors, options); });
}

WorkPointer CountedBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  return counted("all_reduce", tensors, [&] { return backend_->allreduce(tensors, options); });
}

WorkPointer CountedBackend::allreduce_coalesced(Tensors& tensors,
                                                const c10d::AllreduceCoalescedOptions& options) {
  return counted("all_reduce", tensors,
                 [&] { return backend_->allreduce_coalesced(tensors, options); });
}

WorkPointer CountedBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  return counted("reduce", tensors, [&] { return backend_->reduce(tensors, options); });
}

WorkPointer CountedBackend::allgather(TensorLists& outputs, Tensors& inputs,
                                      const c10d::AllgatherOptions& options) {
  return counted("all_gather", flattened(outputs),
                 [&] { return backend_->allgather(outputs, inputs, options); });
}

WorkPointer CountedBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                            const c10d::AllgatherOptions& options) {
  return counted("all_gather", {output},
                 [&] { return backend_->_allgather_base(output, input, options); });
}

WorkPointer CountedBackend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                            const c10d::AllgatherOptions& options) {
  return counted("all_gather", outputs, [&] {
    return backend_->allgather_into_tensor_coalesced(outputs, inputs, options);
  });
}

WorkPointer CountedBackend::gather(TensorLists& outputs, Tensors& inputs,
                                   const c10d::GatherOptions& options) {
  const Tensors payload = outputs.empty() ? inputs : flattened(outputs);
  return counted("gather", payload, [&] { return backend_->gather(outputs, inputs, options); });
}

WorkPointer CountedBackend::scatter(Tensors& outputs, TensorLists& inputs,
                                    const c10d::ScatterOptions& options) {
  const Tensors payload = inputs.empty() ? outputs : flattened(inputs);
  return counted("scatter", payload, [&] { return backend_->scatter(outputs, inputs, options); });
}

WorkPointer CountedBackend::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                           const c10d::ReduceScatterOptions& options) {
  return counted("reduce_scatter", flattened(inputs),
                 [&] { return backend_->reduce_scatter(outputs, inputs, options); });
}

WorkPointer CountedBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::ReduceScatterOptions& options) {
  return counted("reduce_scatter", {input},
                 [&] { return backend_->_reduce_scatter_base(output, input, options); });
}

WorkPointer CountedBackend::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  return counted("reduce_scatter", inputs, [&] {
    return backend_->reduce_scatter_tensor_coalesced(outputs, inputs, options);
  });
}

WorkPointer CountedBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                          std::vector<std::int64_t>& output_sizes,
                                          std::vector<std::int64_t>& input_sizes,
                                          const c10d::AllToAllOptions& options) {
  return counted("all_to_all", {input}, [&] {
    return backend_->alltoall_base(output, input, output_sizes, input_sizes, options);
  });
}

WorkPointer CountedBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                     const c10d::AllToAllOptions& options) {
  return counted("all_to_all", inputs,
                 [&] { return backend_->alltoall(outputs, inputs, options); });
}

WorkPointer CountedBackend::send(Tensors& tensors, int destination, int tag) {
  return counted("send", tensors, [&] { return backend_->send(tensors, destination, tag); });
}

WorkPointer CountedBackend::recv(Tensors& tensors, int source, int tag) {
  return counted("receive", tensors, [&] { return backend_->recv(tensors, source, tag); });
}

WorkPointer CountedBackend::recvAnysource(Tensors& tensors, int tag) {
  return counted("receive", tensors, [&] { return backend_->recvAnysource(tensors, tag); });
}

}  // namespace assay::training
