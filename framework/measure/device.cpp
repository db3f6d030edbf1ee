#include "measure/device.h"

#include <ATen/Context.h>
#include <sys/resource.h>
#include <torch/version.h>

#include "measure/host_time.h"

#if ASSAY_WITH_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#ifdef USE_C10D_NCCL
#include <torch/csrc/cuda/nccl.h>
#endif
#endif

namespace assay::measure {

#if ASSAY_WITH_CUDA

bool cuda_available() { return c10::cuda::device_count() > 0; }

int cuda_device_count() { return c10::cuda::device_count(); }

void use_device(const c10::Device& device) {
  if (!device.is_cuda()) return;
  at::globalContext().lazyInitDevice(at::kCUDA);  // the allocator answers only after this
  c10::cuda::set_device(device.index());
}

void synchronize(const c10::Device& device) {
  if (device.is_cuda()) c10::cuda::device_synchronize();
}

namespace {

// How often this thread had to make room for another one.
long times_preempted() {
  rusage use = {};
  ::getrusage(RUSAGE_THREAD, &use);
  return use.ru_nivcsw;
}

}  // namespace

double other_streams_s(const c10::Device& device) {
  if (!device.is_cuda()) return 0;
  c10::cuda::getCurrentCUDAStream(device.index()).synchronize();
  const long before = times_preempted();
  const double begin_s = host_now_s();
  c10::cuda::device_synchronize();
  const double waited_s = host_now_s() - begin_s;
  return times_preempted() == before ? waited_s : 0;
}

void empty_cache(const c10::Device& device) {
  if (device.is_cuda()) c10::cuda::CUDACachingAllocator::emptyCache();
}

namespace {

void add_cuda_versions(nlohmann::json& versions) {
  int runtime = 0;
  int driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  const auto dotted = [](int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  };
  versions["cuda_runtime"] = dotted(runtime);
  if (driver > 0) versions["cuda_driver_api"] = dotted(driver);
#ifdef USE_C10D_NCCL
  const std::uint64_t nccl = torch::cuda::nccl::version();  // major << 32 | minor << 16 | patch
  versions["nccl"] = std::to_string(nccl >> 32) + "." + std::to_string(nccl >> 16 & 0xffff) + "." +
                     std::to_string(nccl & 0xffff);
#endif
  if (cuda_available()) {
    versions["cudnn"] = at::globalContext().versionCuDNN();
    const cudaDeviceProp* properties = at::cuda::getCurrentDeviceProperties();
    versions["compute_capability"] =
        std::to_string(properties->major) + "." + std::to_string(properties->minor);
  }
}

}  // namespace

#else

bool cuda_available() { return false; }
int cuda_device_count() { return 0; }
void use_device(const c10::Device&) {}
void synchronize(const c10::Device&) {}
double other_streams_s(const c10::Device&) { return 0; }
void empty_cache(const c10::Device&) {}

#endif

nlohmann::json versions() {
  nlohmann::json versions = {{"libtorch", TORCH_VERSION}};
#if ASSAY_WITH_CUDA
  add_cuda_versions(versions);
#endif
  return versions;
}

}  // namespace assay::measure
