#include "training/start_copies.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <sys/mman.h>

#include <new>
#include <utility>

#ifdef ASSAY_WITH_CUDA
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#endif

namespace assay::training {

namespace {

// Elements of any dtype begin there.
std::int64_t padded(std::size_t bytes) { return static_cast<std::int64_t>((bytes + 15) / 16 * 16); }

std::int64_t bytes_of(const std::vector<NamedTensor>& tensors) {
  std::int64_t bytes = 0;
  for (const NamedTensor& tensor : tensors) bytes += padded(tensor.tensor.nbytes());
  return bytes;
}

// Undefined where there is too little.
at::Tensor memory_of_gpu(at::Device device, std::int64_t bytes) {
#ifdef ASSAY_WITH_CUDA
  const c10::cuda::CUDAGuard guard(device);
  std::size_t free = 0, all = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &all));
  void* memory = nullptr;
  if (free < 2 * static_cast<std::size_t>(bytes) + all / 16) return {};
  if (cudaMalloc(&memory, static_cast<std::size_t>(bytes)) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  const auto release = [](void* taken) { C10_CUDA_CHECK_WARN(cudaFree(taken)); };
  return at::from_blob(memory, {bytes}, release, at::TensorOptions(at::kByte).device(device));
#else
  static_cast<void>(device);
  static_cast<void>(bytes);
  return {};
#endif
}

// In large pages where the system has them: to get gigabytes in small ones takes ten times as long
// as to fill them.
at::Tensor memory_of_host(std::int64_t bytes) {
  if (bytes == 0) return at::empty({0}, at::kByte);
  const auto size = static_cast<std::size_t>(bytes);
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  static_cast<void>(::madvise(memory, size, MADV_HUGEPAGE));
  const auto release = [size](void* taken) { ::munmap(taken, size); };
  return at::from_blob(memory, {bytes}, release, at::TensorOptions(at::kByte));
}

std::vector<NamedTensor> copied(std::vector<NamedTensor> tensors, const at::Tensor& memory) {
  std::int64_t used = 0;
  for (NamedTensor& one : tensors) {
    const at::Tensor given = one.tensor.detach();
    const auto bytes = static_cast<std::int64_t>(given.nbytes());
    one.tensor = memory.narrow(0, used, bytes).view(given.scalar_type()).view(given.sizes());
    one.tensor.copy_(given);
    used += padded(given.nbytes());
  }
  return tensors;
}

}  // namespace

std::vector<NamedTensor> moved_to_host(std::vector<NamedTensor> tensors) {
  const at::Tensor memory = memory_of_host(bytes_of(tensors));
  return copied(std::move(tensors), memory);
}

std::vector<NamedTensor> StartCopies::of(std::vector<NamedTensor> parameters, at::Device device) {
  if (device.is_cpu()) {
    for (NamedTensor& parameter : parameters) parameter.tensor = parameter.tensor.detach().clone();
    return parameters;
  }
  const std::int64_t bytes = bytes_of(parameters);
  const at::Tensor memory = memory_of_gpu(device, bytes);
  if (memory.defined()) return copied(std::move(parameters), memory);
  if (host_bytes() < bytes) on_host_ = memory_of_host(bytes);
  return copied(std::move(parameters), on_host_);
}

}  // namespace assay::training
