#include "measure/freed_memory.h"

#include "measure/device.h"

#if ASSAY_WITH_CUDA

#include <c10/cuda/CUDACachingAllocator.h>

#include <chrono>
#include <thread>

namespace assay::measure {

namespace {

// Bytes a second: 0.6 of what an H200 was seen to clear.
constexpr double clearing_rate = 256e9;

std::int64_t freed_bytes(const c10::Device& device) {
  if (!device.is_cuda()) return 0;
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  return stats.reserved_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)]
      .freed;
}

}  // namespace

FreedMemory::FreedMemory(const c10::Device& device)
    : device_(device), awaited_bytes_(freed_bytes(device)) {}

void FreedMemory::await_cleared() {
  const std::int64_t freed = freed_bytes(device_);
  const double wait_s = static_cast<double>(freed - awaited_bytes_) / clearing_rate;
  awaited_bytes_ = freed;
  if (wait_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
}

}  // namespace assay::measure

#else

namespace assay::measure {

FreedMemory::FreedMemory(const c10::Device& device) : device_(device) {}
void FreedMemory::await_cleared() {}

}  // namespace assay::measure

#endif

namespace assay::measure {

void FreedMemory::give_back() {
  empty_cache(device_);
  await_cleared();
}

}  // namespace assay::measure
