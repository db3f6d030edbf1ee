#pragma once

#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

namespace assay::test {

// Hands collectives on to another backend; where it spoils, the result's last element is then one
// more than it should be.
class SpoiltBackend final : public c10d::Backend {
 public:
  using Work = c10::intrusive_ptr<c10d::Work>;
  using Tensors = std::vector<at::Tensor>;
  using Sizes = std::vector<std::int64_t>;

  SpoiltBackend(c10::intrusive_ptr<c10d::Backend> backend, bool spoils)
      : Backend(backend->getRank(), backend->getSize()),
        backend_(std::move(backend)),
        spoils_(spoils) {}

  const std::string getBackendName() const override { return backend_->getBackendName(); }

  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return spoil(backend_->allreduce(tensors, options), tensors.front());
  }
  Work _allgather_base(at::Tensor& out, at::Tensor& in,
                       const c10d::AllgatherOptions& options) override {
    return spoil(backend_->_allgather_base(out, in, options), out);
  }
  Work _reduce_scatter_base(at::Tensor& out, at::Tensor& in,
                            const c10d::ReduceScatterOptions& options) override {
    return spoil(backend_->_reduce_scatter_base(out, in, options), out);
  }
  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return spoil(backend_->broadcast(tensors, options), tensors.front());
  }
  Work reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return spoil(backend_->reduce(tensors, options), tensors.front());
  }
  Work alltoall_base(at::Tensor& out, at::Tensor& in, Sizes& out_sizes, Sizes& in_sizes,
                     const c10d::AllToAllOptions& options) override {
    return spoil(backend_->alltoall_base(out, in, out_sizes, in_sizes, options), out);
  }
  Work send(Tensors& tensors, int to, int tag) override { return backend_->send(tensors, to, tag); }
  Work recv(Tensors& tensors, int from, int tag) override {
    return spoil(backend_->recv(tensors, from, tag), tensors.front());
  }

 private:
  // Nothing is left to wait for: some works can be waited for only once.
  Work spoil(const Work& work, const at::Tensor& result) const {
    work->wait();
    if (spoils_) result.view({-1})[-1].add_(1);
    return {};
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  bool spoils_;
};

}  // namespace assay::test
