#include <assay/plugin.h>

#include "workload/collective/calls.h"

#ifdef USE_C10D_NCCL
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>
#include <nccl.h>

#include <cstring>
#include <stdexcept>
#include <utility>
#endif

namespace assay::collective {

#ifdef USE_C10D_NCCL

namespace {

void check(ncclResult_t result, ncclComm_t communicator) {
  if (result == ncclSuccess) return;
  throw std::runtime_error(
      fmt::format("NCCL: {}; {}", ncclGetErrorString(result), ncclGetLastError(communicator)));
}

ncclDataType_t type_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return ncclFloat32;
    case at::kHalf:
      return ncclFloat16;
    case at::kBFloat16:
      return ncclBfloat16;
    default:
      throw Unsupported("NCCL is measured in fp32, fp16 and bf16");
  }
}

// Rank 0 draws the id; the others get it through the group that they have already.
ncclUniqueId shared_id(const Group& group, at::Device device) {
  ncclUniqueId id = {};
  if (group.rank == 0) check(ncclGetUniqueId(&id), nullptr);
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(sizeof id)}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), &id, sizeof id);
  std::vector<at::Tensor> sent = {bytes.to(device)};
  group.backend->broadcast(sent)->wait();
  bytes = sent.front().cpu();
  std::memcpy(&id, bytes.const_data_ptr(), sizeof id);
  return id;
}

class Communicator {
 public:
  Communicator(const Group& group, at::Device device) : rank(group.rank), size(group.size) {
    check(ncclCommInitRank(&communicator_, size, shared_id(group, device), rank), nullptr);
  }
  // The calls on it have finished, or the process is about to end with an error.
  ~Communicator() { ncclCommDestroy(communicator_); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  ncclComm_t get() const { return communicator_; }

  const int rank;
  const int size;

 private:
  ncclComm_t communicator_ = nullptr;
};

struct Pointers {
  const void* in;
  void* out;
};

// What a call of each operation needs beside its pointers.
struct Target {
  std::size_t count;  // elements, as the operation's function counts them
  ncclDataType_t type;
  int rank;
  int size;
  ncclComm_t communicator;
  cudaStream_t stream;
};

using Function = ncclResult_t (*)(const Pointers&, const Target&);

ncclResult_t all_reduce(const Pointers& p, const Target& t) {
  return ncclAllReduce(p.in, p.out, t.count, t.type, ncclSum, t.communicator, t.stream);
}
ncclResult_t all_gather(const Pointers& p, const Target& t) {
  return ncclAllGather(p.in, p.out, t.count, t.type, t.communicator, t.stream);
}
ncclResult_t reduce_scatter(const Pointers& p, const Target& t) {
  return ncclReduceScatter(p.in, p.out, t.count, t.type, ncclSum, t.communicator, t.stream);
}
ncclResult_t broadcast(const Pointers& p, const Target& t) {
  return ncclBroadcast(p.in, p.out, t.count, t.type, 0, t.communicator, t.stream);
}
ncclResult_t reduce(const Pointers& p, const Target& t) {
  return ncclReduce(p.in, p.out, t.count, t.type, ncclSum, 0, t.communicator, t.stream);
}

// Ends the group whatever the calls in it answered.
template <class InGroup>
ncclResult_t grouped(const InGroup& in_group) {
  if (const ncclResult_t begun = ncclGroupStart(); begun != ncclSuccess) return begun;
  const ncclResult_t called = in_group();
  const ncclResult_t ended = ncclGroupEnd();
  return called != ncclSuccess ? called : ended;
}

ncclResult_t all_to_all(const Pointers& p, const Target& t) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  return ncclAlltoAll(p.in, p.out, t.count, t.type, t.communicator, t.stream);
#else
  const std::size_t bytes = t.count * (t.type == ncclFloat32 ? 4 : 2);
  return grouped([&] {
    for (int peer = 0; peer < t.size; ++peer) {
      const auto* in = static_cast<const char*>(p.in) + static_cast<std::size_t>(peer) * bytes;
      auto* out = static_cast<char*>(p.out) + static_cast<std::size_t>(peer) * bytes;
      ncclResult_t result = ncclSend(in, t.count, t.type, peer, t.communicator, t.stream);
      if (result != ncclSuccess) return result;
      result = ncclRecv(out, t.count, t.type, peer, t.communicator, t.stream);
      if (result != ncclSuccess) return result;
    }
    return ncclSuccess;
  });
#endif
}

// To the next rank, from the one before.
ncclResult_t send_recv(const Pointers& p, const Target& t) {
  return grouped([&] {
    const ncclResult_t sent =
        ncclSend(p.in, t.count, t.type, (t.rank + 1) % t.size, t.communicator, t.stream);
    if (sent != ncclSuccess) return sent;
    return ncclRecv(p.out, t.count, t.type, (t.rank + t.size - 1) % t.size, t.communicator,
                    t.stream);
  });
}

Function function_of(const std::string& name) {
  constexpr std::pair<const char*, Function> all[] = {
      {"all_reduce", all_reduce}, {"all_gather", all_gather}, {"reduce_scatter", reduce_scatter},
      {"broadcast", broadcast},   {"reduce", reduce},         {"all_to_all", all_to_all},
      {"send_recv", send_recv}};
  for (const auto& [known, call] : all) {
    if (name == known) return call;
  }
  throw std::invalid_argument("NCCL has no '" + name + "'");
}

class NcclCalls final : public Calls {
 public:
  NcclCalls(std::shared_ptr<Communicator> communicator, Function call, std::size_t count,
            std::vector<Slot> slots)
      : communicator_(std::move(communicator)), call_(call), slots_(std::move(slots)) {
    for (const Slot& slot : slots_) {
      pointers_.push_back({slot.in.const_data_ptr(), slot.out.mutable_data_ptr()});
    }
    const at::Tensor& out = slots_.front().out;
    target_ = {count,
               type_of(out.scalar_type()),
               communicator_->rank,
               communicator_->size,
               communicator_->get(),
               nullptr};
    one_ = at::zeros({1}, at::TensorOptions().device(out.device()));
  }

  void launch(std::size_t slot) override {
    target_.stream = c10::cuda::getCurrentCUDAStream();
    check(call_(pointers_[slot], target_), target_.communicator);
  }
  void wait() override {}

  void in_a_row(int calls) override {
    Target target = target_;
    target.stream = c10::cuda::getCurrentCUDAStream();
    const std::size_t slots = pointers_.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(calls); ++i) {
      const ncclResult_t result = call_(pointers_[i % slots], target);
      if (result != ncclSuccess) check(result, target.communicator);
    }
  }

  void meet() override {
    void* one = one_.mutable_data_ptr();
    check(ncclAllReduce(one, one, 1, ncclFloat32, ncclSum, target_.communicator,
                        c10::cuda::getCurrentCUDAStream()),
          target_.communicator);
  }

 private:
  std::shared_ptr<Communicator> communicator_;
  Function call_;
  std::vector<Slot> slots_;
  std::vector<Pointers> pointers_;
  Target target_ = {};
  at::Tensor one_;  // [1], zero: sums stay zero
};

class NcclLayer final : public Layer {
 public:
  NcclLayer(const Group& group, at::Device device)
      : communicator_(std::make_shared<Communicator>(group, device)) {}

  std::unique_ptr<Calls> calls(const Operation& operation, const Shape& shape,
                               std::vector<Slot> slots) override {
    const std::int64_t count = operation.shares ? shape.share : shape.whole;
    return std::make_unique<NcclCalls>(communicator_, function_of(operation.name),
                                       static_cast<std::size_t>(count), std::move(slots));
  }

 private:
  std::shared_ptr<Communicator> communicator_;
};

}  // namespace

std::unique_ptr<Layer> nccl_layer(const Group& group, at::Device device) {
  if (group.backend->getBackendName() != "nccl") {
    throw Unsupported("NCCL is called directly where it is the backend, too (backend: nccl)");
  }
  return std::make_unique<NcclLayer>(group, device);
}

#else

std::unique_ptr<Layer> nccl_layer(const Group&, at::Device) {
  throw Unsupported("NCCL is not part of this build");
}

#endif

}  // namespace assay::collective
