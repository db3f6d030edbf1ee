#include "worker/process/nccl_group.h"

#ifdef USE_C10D_NCCL

#include <ATen/cuda/MemPool.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <thread>
#include <utility>

namespace assay::worker {

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// This thread's allocations come from a pool while it lives.
class FromPool {
 public:
  explicit FromPool(at::cuda::MemPool& pool) : device_(pool.device()), id_(pool.id()) {
    allocator::beginAllocateToPool(device_, id_, [own = std::this_thread::get_id()](cudaStream_t) {
      return std::this_thread::get_id() == own;
    });
  }
  ~FromPool() {
    allocator::endAllocateToPool(device_, id_);
    allocator::releasePool(device_, id_);
  }
  FromPool(const FromPool&) = delete;
  FromPool& operator=(const FromPool&) = delete;

 private:
  c10::DeviceIndex device_;
  c10::MempoolId_t id_;
};

}  // namespace

// What is registered no longer when it is freed: then a failure would end the process.
void NcclGroup::forget(at::cuda::MemPool& pool) noexcept {
  try {
    deregisterMemPool(&pool);
  } catch (const c10::Error&) {
    return;  // its communicator has failed, which whoever uses it is told
  }
}

// Each has a pool, and so a window, of its own: which of several free blocks an allocator takes
// depends on their addresses, which differ between ranks.
at::Tensor NcclGroup::allocateTensor(long size, at::TensorOptions options) {
  const c10::cuda::CUDAGuard device(options.device());
  if (getCommPtr() == 0) eagerConnectSingleDevice(options.device());
  auto pool = std::make_shared<at::cuda::MemPool>(
      std::static_pointer_cast<allocator::CUDAAllocator>(getMemAllocator()));
  at::Tensor memory;
  {
    const FromPool from(*pool);
    memory = at::zeros({size}, options);
  }
  try {
    registerMemPool(pool.get(), true);
  } catch (...) {
    forget(*pool);
    throw;
  }
  void* const data = memory.mutable_data_ptr();
  // NCCL unmaps it at once, also below a kernel that still reads it.
  const auto free = [this, memory, pool, own = options.device()](void*) mutable {
    const c10::cuda::CUDAGuard guard(own);
    cudaDeviceSynchronize();
    forget(*pool);
    memory.reset();
    pool.reset();
  };
  return at::from_blob(data, {size}, free, options);
}

}  // namespace assay::worker

#endif
