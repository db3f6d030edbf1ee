#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <functional>
#include <string_view>

#include "workload/collective/calls.h"

namespace assay::collective {

namespace {

using WorkHandle = c10::intrusive_ptr<c10d::Work>;

// One call's tensors as c10d wants them.
struct Tensors {
  explicit Tensors(Slot slot) : in(slot.in), out(slot.out), ins{slot.in}, outs{slot.out} {}
  at::Tensor in, out;
  std::vector<at::Tensor> ins, outs;
};

// What a call has begun, one work or two; null where the calling stream has the work already.
struct Begun {
  WorkHandle first, second;
  Begun() = default;
  Begun(WorkHandle one, WorkHandle other = {}) : first(std::move(one)), second(std::move(other)) {}
  void wait() {
    for (WorkHandle* work : {&first, &second}) {
      if (*work) (*work)->wait();
      work->reset();
    }
  }
};

using Call = std::function<Begun(c10d::Backend&, Tensors&)>;

template <class Options>
Options options_with(bool asynchronous) {
  Options options;
  options.asyncOp = asynchronous;
  return options;
}

// Each rank sends to the next and receives from the one before, as nccl-tests' sendrecv.
Call send_recv(const Group& group, bool is_nccl) {
  const int next = (group.rank + 1) % group.size;
  const int previous = (group.rank + group.size - 1) % group.size;
  if (!is_nccl) {
    return [=](c10d::Backend& backend, Tensors& tensors) -> Begun {
      WorkHandle sent = backend.send(tensors.ins, next, 0);
      return {std::move(sent), backend.recv(tensors.outs, previous, 0)};
    };
  }
  // Both in one launch: a send alone would wait for a receive that follows it on the same stream.
  return [=](c10d::Backend& backend, Tensors& tensors) {
    backend.startCoalescing();
    backend.send(tensors.ins, next, 0);
    backend.recv(tensors.outs, previous, 0);
    return backend.endCoalescing();
  };
}

Call call_of(const Operation& operation, const Group& group, bool is_nccl, bool asynchronous) {
  const std::string name = operation.name;
  if (name == "all_reduce") {
    const auto options = options_with<c10d::AllreduceOptions>(asynchronous);
    return [=](c10d::Backend& backend, Tensors& tensors) {
      return backend.allreduce(tensors.outs, options);
    };
  }
  if (name == "all_gather") {
    const auto options = options_with<c10d::AllgatherOptions>(asynchronous);
    return [=](c10d::Backend& backend, Tensors& tensors) {
      return backend._allgather_base(tensors.out, tensors.in, options);
    };
  }
  if (name == "reduce_scatter") {
    const auto options = options_with<c10d::ReduceScatterOptions>(asynchronous);
    return [=](c10d::Backend& backend, Tensors& tensors) {
      return backend._reduce_scatter_base(tensors.out, tensors.in, options);
    };
  }
  if (name == "broadcast") {
    const auto options = options_with<c10d::BroadcastOptions>(asynchronous);
    return [=](c10d::Backend& backend, Tensors& tensors) {
      return backend.broadcast(tensors.outs, options);
    };
  }
  if (name == "reduce") {
    const auto options = options_with<c10d::ReduceOptions>(asynchronous);
    return [=](c10d::Backend& backend, Tensors& tensors) {
      return backend.reduce(tensors.outs, options);
    };
  }
  if (name == "all_to_all") {
    const auto options = options_with<c10d::AllToAllOptions>(asynchronous);
    return [=](c10d::Backend& backend, Tensors& tensors) {
      std::vector<std::int64_t> equal_parts;
      return backend.alltoall_base(tensors.out, tensors.in, equal_parts, equal_parts, options);
    };
  }
  return send_recv(group, is_nccl);
}

// How c10d's backends say that they lack an operation, a device or a dtype.
bool means_lacking(std::string_view reason) {
  for (const char* sign :
       {"not support", "nsupported", "ot implemented", "only implemented", "Invalid scalar type"}) {
    if (reason.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

class C10dCalls final : public Calls {
 public:
  C10dCalls(Group group, at::Device device, Call call, std::vector<Slot> slots)
      : group_(std::move(group)),
        is_nccl_(group_.backend->getBackendName() == "nccl"),
        call_(std::move(call)) {
    for (Slot& slot : slots) tensors_.emplace_back(std::move(slot));
    if (is_nccl_) one_ = {at::zeros({1}, at::TensorOptions().device(device))};
  }

  void launch(std::size_t slot) override {
    try {
      begun_ = call_(*group_.backend, tensors_[slot]);
    } catch (const c10::Error& error) {
      const std::string reason = error.what_without_backtrace();
      if (called_ || !means_lacking(reason)) throw;
      throw Unsupported(fmt::format("{}: {}", group_.backend->getBackendName(), reason));
    }
    called_ = true;
  }

  void wait() override { begun_.wait(); }

  // NCCL's calls follow each other on a stream, so that the last one's end is that of all. Gloo
  // would run several at once.
  void in_a_row(int calls) override {
    for (int i = 0; i < calls; ++i) {
      begun_ = call_(*group_.backend, tensors_[static_cast<std::size_t>(i) % tensors_.size()]);
      if (!is_nccl_) begun_.wait();
    }
    begun_.wait();
  }

  void meet() override {
    if (!is_nccl_) {
      group_.backend->barrier()->wait();
      return;
    }
    const auto options = options_with<c10d::AllreduceOptions>(false);
    if (const WorkHandle work = group_.backend->allreduce(one_, options)) work->wait();
  }

 private:
  Group group_;
  bool is_nccl_;
  Call call_;
  std::vector<Tensors> tensors_;
  std::vector<at::Tensor> one_;
  Begun begun_;
  bool called_ = false;
};

class C10dLayer final : public Layer {
 public:
  C10dLayer(Group group, at::Device device, bool asynchronous)
      : group_(std::move(group)), device_(device), asynchronous_(asynchronous) {}

  std::unique_ptr<Calls> calls(const Operation& operation, const Shape&,
                               std::vector<Slot> slots) override {
    const std::string backend = group_.backend->getBackendName();
    const bool in_place = slots.front().in.const_data_ptr() == slots.front().out.const_data_ptr();
    if (operation.in_place_by_c10d && !in_place) {
      throw Unsupported(fmt::format("c10d's {} works in place only", operation.name));
    }
    const bool sends = std::string_view(operation.name) == "send_recv";
    if (backend == "gloo" && device_.is_cuda() && sends) {
      throw Unsupported("Gloo sends from and receives into the host's memory only");
    }
    if (backend == "nccl" && asynchronous_ && sends) {
      throw Unsupported(
          "c10d sends and receives on NCCL's stream whoever calls: layer c10d has its time");
    }
    return std::make_unique<C10dCalls>(group_, device_,
                                       call_of(operation, group_, backend == "nccl", asynchronous_),
                                       std::move(slots));
  }

 private:
  Group group_;
  at::Device device_;
  bool asynchronous_;
};

}  // namespace

std::unique_ptr<Layer> c10d_layer(const Group& group, at::Device device, bool asynchronous) {
  return std::make_unique<C10dLayer>(group, device, asynchronous);
}

}  // namespace assay::collective
