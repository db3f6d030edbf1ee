#pragma once

#include <assay/mesh.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::training {

// Told of each collective of the group of all ranks ahead of its call, by whichever thread makes
// it: "all_reduce of 4096 bytes of float".
using CollectiveListener = void (*)(std::string_view words);
// One a process, for its life: the plugins' backends have no way to hand it on. nullptr: nobody.
void tell_of_collectives(CollectiveListener listener);

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

// Works of a CPU's tensors that another thread still holds when the caller lets go of them. Whoever
// holds a work last frees its tensors, and that shall be a thread whose memory is counted.
class LentWorks {
 public:
  ~LentWorks() { await(); }
  // Until a later call finds it returned. Does not wait, without Patience.
  void keep(WorkPointer work);
  // Waits until all are returned, a second at most: usually a few microseconds after they are done.
  void await();

  // While one lives, works that are done are awaited as soon as they are kept: where memory counts
  // and time does not.
  class Patience {
   public:
    explicit Patience(LentWorks& lent) : lent_(lent) { lent_.is_patient_ = true; }
    ~Patience() { lent_.is_patient_ = false; }
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

   private:
    LentWorks& lent_;
  };

 private:
  void free_returned();

  std::atomic<bool> is_patient_ = false;
  std::mutex mutex_;
  std::vector<WorkPointer> works_;
};

// Hands collectives on to another backend, counts them and makes each a span.
class CountedBackend final : public c10d::Backend {
 public:
  CountedBackend(c10::intrusive_ptr<c10d::Backend> backend, std::string lane,
                 std::shared_ptr<Traffic> traffic, TraceHandle trace,
                 std::shared_ptr<LentWorks> lent);

  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<Tensors>;

  const std::string getBackendName() const override { return backend_->getBackendName(); }
  c10::intrusive_ptr<Options> getBackendOptions() override { return backend_->getBackendOptions(); }
  bool supportsCoalescing() const override { return backend_->supportsCoalescing(); }
  bool supportsTimeEstimation() const override { return backend_->supportsTimeEstimation(); }
  void setTimeout(std::chrono::milliseconds timeout) override { backend_->setTimeout(timeout); }
  void startCoalescing() override;
  WorkPointer endCoalescing() override;

  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPointer allreduce_coalesced(Tensors& tensors,
                                  const c10d::AllreduceCoalescedOptions& options) override;
  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPointer allgather(TensorLists& outputs, Tensors& inputs,
                        const c10d::AllgatherOptions& options) override;
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input,
                              const c10d::AllgatherOptions& options) override;
  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) override;
  WorkPointer gather(TensorLists& outputs, Tensors& inputs,
                     const c10d::GatherOptions& options) override;
  WorkPointer scatter(Tensors& outputs, TensorLists& inputs,
                      const c10d::ScatterOptions& options) override;
  WorkPointer reduce_scatter(Tensors& outputs, TensorLists& inputs,
                             const c10d::ReduceScatterOptions& options) override;
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& options) override;
  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::ReduceScatterOptions& options) override;
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input,
                            std::vector<std::int64_t>& output_sizes,
                            std::vector<std::int64_t>& input_sizes,
                            const c10d::AllToAllOptions& options) override;
  WorkPointer alltoall(Tensors& outputs, Tensors& inputs,
                       const c10d::AllToAllOptions& options) override;
  WorkPointer send(Tensors& tensors, int destination, int tag) override;
  WorkPointer recv(Tensors& tensors, int source, int tag) override;
  WorkPointer recvAnysource(Tensors& tensors, int tag) override;

  WorkPointer barrier(const c10d::BarrierOptions& options) override {
    return backend_->barrier(options);
  }
  void setSequenceNumberForGroup() override { backend_->setSequenceNumberForGroup(); }
  std::uint64_t getSequenceNumberForGroup() override {
    return backend_->getSequenceNumberForGroup();
  }
  std::shared_ptr<c10::Allocator> getMemAllocator() override { return backend_->getMemAllocator(); }
  at::Tensor allocateTensor(long size, at::TensorOptions options) override {
    return backend_->allocateTensor(size, options);
  }
  bool supportsTensorAlloc(c10::DeviceIndex device) override {
    return backend_->supportsTensorAlloc(device);
  }
  void abort() override { backend_->abort(); }

 private:
  class SpannedWork;
  class HostWork;
  struct HostSpan;

  WorkPointer counted(const char* collective, const Tensors& payload,
                      const std::function<WorkPointer()>& call);

  WorkPointer spanned(const std::string& collective, const at::Tensor& payload,
                      const std::function<WorkPointer()>& call);

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::string lane_;
  std::shared_ptr<Traffic> traffic_;
  TraceHandle trace_;
  bool coalescing_ = false;
  std::pair<std::string, at::Tensor> coalesced_;       // the last call within
  std::map<c10::DeviceIndex, c10::Stream> followers_;  // for spans of GPUs
  std::shared_ptr<LentWorks> lent_;
};

// assay::counted (mesh.h), whose groups share `lent`.
Mesh counted(const Mesh& mesh, std::shared_ptr<Traffic> traffic, TraceHandle trace,
             std::shared_ptr<LentWorks> lent);

}  // namespace assay::training
