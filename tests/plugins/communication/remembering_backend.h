#pragma once

#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "done_work.h"

namespace assay::test {

// Hands so many collectives on to another backend. Later ones move nothing: they leave what the
// first one left.
class RememberingBackend final : public c10d::Backend {
 public:
  using Work = c10::intrusive_ptr<c10d::Work>;
  using Tensors = std::vector<at::Tensor>;
  using Sizes = std::vector<std::int64_t>;

  RememberingBackend(c10::intrusive_ptr<c10d::Backend> backend, int honest)
      : Backend(backend->getRank(), backend->getSize()),
        backend_(std::move(backend)),
        honest_(honest) {}

  const std::string getBackendName() const override { return backend_->getBackendName(); }

  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return call([&] { return backend_->allreduce(tensors, options); }, tensors.front());
  }
  Work _allgather_base(at::Tensor& out, at::Tensor& in,
                       const c10d::AllgatherOptions& options) override {
    return call([&] { return backend_->_allgather_base(out, in, options); }, out);
  }
  Work _reduce_scatter_base(at::Tensor& out, at::Tensor& in,
                            const c10d::ReduceScatterOptions& options) override {
    return call([&] { return backend_->_reduce_scatter_base(out, in, options); }, out);
  }
  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    if (getRank() == 0 && honest_ <= 0) return c10::make_intrusive<DoneWork>();
    return call([&] { return backend_->broadcast(tensors, options); }, tensors.front());
  }
  Work reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return call([&] { return backend_->reduce(tensors, options); }, tensors.front());
  }
  Work alltoall_base(at::Tensor& out, at::Tensor& in, Sizes& out_sizes, Sizes& in_sizes,
                     const c10d::AllToAllOptions& options) override {
    return call([&] { return backend_->alltoall_base(out, in, out_sizes, in_sizes, options); },
                out);
  }
  Work send(Tensors& tensors, int to, int tag) override {
    if (honest_ <= 0) return c10::make_intrusive<DoneWork>();
    return backend_->send(tensors, to, tag);
  }
  Work recv(Tensors& tensors, int from, int tag) override {
    return call([&] { return backend_->recv(tensors, from, tag); }, tensors.front());
  }
  // What lone calls share with each other.
  Work barrier(const c10d::BarrierOptions& options) override { return backend_->barrier(options); }

 private:
  template <class Call>
  Work call(const Call& honestly, const at::Tensor& result) {
    if (honest_-- <= 0) {
      result.copy_(first_);
      return c10::make_intrusive<DoneWork>();
    }
    const Work work = honestly();
    work->wait();
    if (!first_.defined()) first_ = result.clone();
    return c10::make_intrusive<DoneWork>();
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  int honest_;
  at::Tensor first_;
};

}  // namespace assay::test
