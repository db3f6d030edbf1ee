#include "measure/cache.h"

#include <ATen/Parallel.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "measure/cache_size.h"

#if ASSAY_WITH_CUDA
#include <ATen/ops/from_blob.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>
#endif

namespace assay::measure {

namespace {

constexpr std::int64_t usual_cache_bytes = std::int64_t{32} << 20;
constexpr std::int64_t line_bytes = 64;
constexpr std::int64_t most_programs = 2048;
constexpr int least_times_the_cache = 2;

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::int64_t read_cpu_cache_bytes() {
  const auto told = last_level_cache_bytes("/sys/devices/system/cpu", usable_cpus());
  if (told > 0) return told;
  const auto third_level = static_cast<std::int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE));
  return third_level > 0 ? third_level : usual_cache_bytes;
}

// Read once: there are some twenty files a CPU, and every case asks.
std::int64_t cpu_cache_bytes() {
  static const std::int64_t bytes = read_cpu_cache_bytes();
  return bytes;
}

std::int64_t free_host_bytes() {
  std::ifstream stream("/proc/meminfo");
  for (std::string word; stream >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "MemAvailable:" && stream >> kibibytes) return kibibytes << 10;
  }
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace

std::int64_t cache_bytes(const c10::Device& device) {
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) {
    int bytes = 0;
    C10_CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device.index()));
    return bytes;
  }
#endif
  static_cast<void>(device);
  return cpu_cache_bytes();
}

std::int64_t free_bytes(const c10::Device& device) {
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) {
    c10::cuda::CUDACachingAllocator::emptyCache();
    std::size_t free = 0;
    std::size_t total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(free);
  }
#endif
  static_cast<void>(device);
  return free_host_bytes();
}

class CacheFlush::Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void read() = 0;
  virtual std::int64_t bytes() const = 0;
};

namespace {

// Every thread reads a part, which also empties the caches of its own core.
class HostBuffer final : public CacheFlush::Buffer {
 public:
  explicit HostBuffer(std::int64_t bytes) : memory_(static_cast<std::size_t>(bytes), 1) {}

  void read() override {
    at::parallel_for(0, bytes() / line_bytes, 1 << 12,
                     [this](std::int64_t begin, std::int64_t end) {
                       const volatile char* memory = memory_.data();
                       for (std::int64_t line = begin; line < end; ++line) {
                         static_cast<void>(memory[line * line_bytes]);
                       }
                     });
  }
  std::int64_t bytes() const override { return static_cast<std::int64_t>(memory_.size()); }

 private:
  std::vector<char> memory_;  // written, or all pages would map to one page of zeros
};

#if ASSAY_WITH_CUDA

class DeviceBuffer final : public CacheFlush::Buffer {
 public:
  DeviceBuffer(const c10::Device& device, std::int64_t bytes) : bytes_(bytes) {
    // LibTorch's allocator would count this memory. Its unused memory must not stand in the way.
    c10::cuda::CUDACachingAllocator::emptyCache();
    const cudaError_t allocated =
        cudaMalloc(&memory_, static_cast<std::size_t>(bytes + line_bytes));
    if (allocated != cudaSuccess) static_cast<void>(cudaGetLastError());
    TORCH_CHECK_WITH(OutOfMemoryError, allocated == cudaSuccess, "CUDA out of memory: ", bytes,
                     " bytes to flush the L2 cache with");
    C10_CUDA_CHECK(cudaMemset(memory_, 0, static_cast<std::size_t>(bytes)));
    const auto options = at::TensorOptions().device(device).dtype(at::kFloat);
    values_ = at::from_blob(memory_, {bytes / static_cast<std::int64_t>(sizeof(float))}, options);
    sum_ = at::from_blob(static_cast<char*>(memory_) + bytes, {}, options);
  }

  ~DeviceBuffer() override { static_cast<void>(cudaFree(memory_)); }  // waits for the device

  void read() override { at::sum_out(sum_, values_, at::IntArrayRef{0}); }
  std::int64_t bytes() const override { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::int64_t bytes_;
  at::Tensor values_, sum_;
};

#endif

std::unique_ptr<CacheFlush::Buffer> make_buffer(const c10::Device& device) {
  const std::int64_t bytes = times_the_cache * cache_bytes(device) / line_bytes * line_bytes;
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) return std::make_unique<DeviceBuffer>(device, bytes);
#endif
  return std::make_unique<HostBuffer>(bytes);
}

}  // namespace

CacheFlush::CacheFlush(const c10::Device& device) : buffer_(make_buffer(device)) { flush(); }
CacheFlush::~CacheFlush() = default;
void CacheFlush::flush() { buffer_->read(); }
std::int64_t CacheFlush::bytes() const { return buffer_->bytes(); }

int programs_to_rotate(std::int64_t program_bytes, std::int64_t cache_bytes,
                       std::int64_t free_bytes, std::int64_t called_bytes) {
  if (program_bytes <= 0) return 0;
  const std::int64_t wanted = times_the_cache * cache_bytes;
  if (program_bytes >= wanted) return 1;
  const std::int64_t others =
      std::min({(wanted + program_bytes - 1) / program_bytes, most_programs - 1,
                std::max<std::int64_t>(0, free_bytes) / 2 / std::max(program_bytes, called_bytes)});
  if (others * program_bytes < least_times_the_cache * cache_bytes) return 0;
  return static_cast<int>(others) + 1;
}

}  // namespace assay::measure
