#include "worker/process/launch_watch.h"

#if ASSAY_WITH_CUDA

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "base/text.h"

namespace assay::worker {

namespace {

struct Refused {
  const void* kernel = nullptr;
  std::int64_t threads = 0;       // a block; 0: not a launch
  std::int64_t shared_bytes = 0;  // a block, beside the kernel's static ones
};

// Global: a launch may fail on one of autograd's threads and its error surface on another.
std::mutex refused_mutex;
std::optional<Refused> refused;

void note(const Refused& failure) {
  const std::lock_guard lock(refused_mutex);
  refused = failure;
}

// The CUDA runtime's own function. RTLD_NEXT would search the host program's libraries.
template <class Function>
Function* original(const char* name) {
  Dl_info runtime = {};
  ::dladdr(reinterpret_cast<void*>(&cudaGetDeviceCount), &runtime);
  void* library = ::dlopen(runtime.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
}

std::int64_t device_limit(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, attribute, device);
  return value;
}

std::optional<Status> shared_memory(const Refused& failure, const cudaFuncAttributes& kernel) {
  const auto fixed = static_cast<std::int64_t>(kernel.sharedSizeBytes);
  const std::int64_t needed = failure.shared_bytes + fixed;
  const std::int64_t limit = device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (needed > limit) {
    return Status{Outcome::oom,
                  fmt::format("out of shared memory: a kernel needs {} a block, the limit of this "
                              "device is {}",
                              human_size(needed), human_size(limit))};
  }
  const std::int64_t allowed = kernel.maxDynamicSharedSizeBytes;
  if (failure.threads == 0 || failure.shared_bytes <= allowed) return std::nullopt;
  return Status{Outcome::error,
                fmt::format("a kernel was launched with {} of shared memory a block, its limit is "
                            "{}: from there up to the device's {} it must ask with "
                            "cudaFuncSetAttribute",
                            human_size(needed), human_size(allowed + fixed), human_size(limit))};
}

std::optional<Status> registers(const Refused& failure, const cudaFuncAttributes& kernel) {
  // Registers are allocated to a warp in units of 256.
  constexpr std::int64_t warp = 32;
  constexpr std::int64_t unit = 256;
  const std::int64_t warps = (failure.threads + warp - 1) / warp;
  const std::int64_t needed = (kernel.numRegs * warp + unit - 1) / unit * unit * warps;
  const std::int64_t limit = device_limit(cudaDevAttrMaxRegistersPerBlock);
  if (needed > limit) {
    return Status{Outcome::oom,
                  fmt::format("out of registers: a kernel needs {} a block ({} a thread, {} "
                              "threads), the limit of this device is {}",
                              needed, kernel.numRegs, failure.threads, limit)};
  }
  if (failure.threads <= kernel.maxThreadsPerBlock) return std::nullopt;
  return Status{Outcome::error,
                fmt::format("a kernel was launched with {} threads a block, its limit, by its "
                            "registers and launch bounds, is {}",
                            failure.threads, kernel.maxThreadsPerBlock)};
}

}  // namespace

std::optional<Status> take_launch_failure() {
  std::optional<Refused> failure;
  {
    const std::lock_guard lock(refused_mutex);
    failure = std::exchange(refused, std::nullopt);
  }
  cudaFuncAttributes kernel = {};
  if (!failure || cudaFuncGetAttributes(&kernel, failure->kernel) != cudaSuccess) {
    return std::nullopt;
  }
  if (auto cause = shared_memory(*failure, kernel)) return cause;
  return failure->threads > 0 ? registers(*failure, kernel) : std::nullopt;
}

}  // namespace assay::worker

using assay::worker::note;
using assay::worker::original;

// Spelled out: the runtime's headers overload some of these names with templates.
using LaunchOfHandle = cudaError_t(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
using Launch = cudaError_t(const void*, dim3, dim3, void**, size_t, cudaStream_t);
using LaunchConfigured = cudaError_t(const cudaLaunchConfig_t*, const void*, void**);
using SetAttribute = cudaError_t(const void*, cudaFuncAttribute, int);

#define ASSAY_EXPORTED extern "C" __attribute__((visibility("default")))

// `kernel<<<…>>>` compiles to this from CUDA 13 on.
ASSAY_EXPORTED cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                              void** arguments, size_t shared_bytes,
                                              cudaStream_t stream) {
  static auto* const launch = original<LaunchOfHandle>("__cudaLaunchKernel");
  const cudaError_t error = launch(kernel, grid, block, arguments, shared_bytes, stream);
  if (error != cudaSuccess) {
    note({kernel, std::int64_t{block.x} * block.y * block.z,
          static_cast<std::int64_t>(shared_bytes)});
  }
  return error;
}

ASSAY_EXPORTED cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block,
                                            void** arguments, size_t shared_bytes,
                                            cudaStream_t stream) {
  static auto* const launch = original<Launch>("cudaLaunchKernel");
  const cudaError_t error = launch(kernel, grid, block, arguments, shared_bytes, stream);
  if (error != cudaSuccess) {
    note({kernel, std::int64_t{block.x} * block.y * block.z,
          static_cast<std::int64_t>(shared_bytes)});
  }
  return error;
}

ASSAY_EXPORTED cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration,
                                               const void* kernel, void** arguments) {
  static auto* const launch = original<LaunchConfigured>("cudaLaunchKernelExC");
  const cudaError_t error = launch(configuration, kernel, arguments);
  if (error != cudaSuccess && configuration != nullptr) {
    const dim3& block = configuration->blockDim;
    note({kernel, std::int64_t{block.x} * block.y * block.z,
          static_cast<std::int64_t>(configuration->dynamicSmemBytes)});
  }
  return error;
}

ASSAY_EXPORTED cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute,
                                                int value) {
  static auto* const set = original<SetAttribute>("cudaFuncSetAttribute");
  const cudaError_t error = set(kernel, attribute, value);
  if (error != cudaSuccess && attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    note({kernel, 0, value});
  }
  return error;
}

#undef ASSAY_EXPORTED

#else

namespace assay::worker {

std::optional<Status> take_launch_failure() { return std::nullopt; }

}  // namespace assay::worker

#endif
