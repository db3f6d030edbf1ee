#pragma once

// libstdc++ 12's <atomic>, which LibTorch includes, lacks it.
#include <climits>

#include <assay/plugin.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>

namespace assay::device {

namespace detail {

inline Unsupported beyond(const char* resource, long long needed, long long limit) {
  return Unsupported(std::string(resource) + ": it needs " + std::to_string(needed) +
                     ", the limit is " + std::to_string(limit));
}

inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // else the next launch would report it
  throw Unsupported(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace detail

// Prepares a kernel for blocks of so many threads with so much dynamic shared memory on the current
// device; call it once before the first launch, not in a capture. Throws Unsupported with resource,
// need and limit where such a block does not fit.
template <class... Parameters>
void fit(void (*kernel)(Parameters...), int threads, std::size_t dynamic_shared_bytes) {
  const auto* entry = reinterpret_cast<const void*>(kernel);  // as the host's API takes it
  int device = 0, shared_limit = 0, registers_limit = 0, threads_limit = 0;
  detail::require(cudaGetDevice(&device), "no current device");
  cudaFuncAttributes kernel_needs;
  detail::require(cudaFuncGetAttributes(&kernel_needs, entry), "the kernel cannot be loaded");
  for (const auto& [attribute, value] :
       {std::pair(cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared_limit),
        std::pair(cudaDevAttrMaxRegistersPerBlock, &registers_limit),
        std::pair(cudaDevAttrMaxThreadsPerBlock, &threads_limit)}) {
    detail::require(cudaDeviceGetAttribute(value, attribute, device), "the device's limits");
  }
  const auto shared = static_cast<long long>(kernel_needs.sharedSizeBytes + dynamic_shared_bytes);
  if (shared > shared_limit) {
    throw detail::beyond("bytes of shared memory a block", shared, shared_limit);
  }
  if (threads > threads_limit) throw detail::beyond("threads a block", threads, threads_limit);
  if (threads > kernel_needs.maxThreadsPerBlock) {
    const long long needed = static_cast<long long>(kernel_needs.numRegs) * threads;
    if (needed > registers_limit) {
      throw detail::beyond("registers a block", needed, registers_limit);
    }
    throw detail::beyond("threads a block of this kernel", threads,
                         kernel_needs.maxThreadsPerBlock);
  }
  detail::require(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(dynamic_shared_bytes)),
                  "the driver refuses the kernel's dynamic shared memory");
}

}  // namespace assay::device
