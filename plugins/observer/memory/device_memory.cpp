#include "device_memory.h"

#include <assay/plugin.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#if ASSAY_WITH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#endif

namespace assay::memory {

namespace {

Bytes resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  Bytes pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
}

std::vector<Segment> live_allocations(const Observation& observation) {
  std::vector<Segment> segments;
  for (const auto& [address, live] : observation.live()) {
    segments.push_back(
        {address, live.size, 0, true, false, {{address, live.size, live.size, true, live.origin}}});
  }
  return segments;
}

#if ASSAY_WITH_CUDA

namespace allocator = c10::cuda::CUDACachingAllocator;

bool capturing() {
  return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

void take(const allocator::TraceEntry& entry, c10::DeviceIndex device, Observation& observation) {
  using Entry = allocator::TraceEntry;
  if (entry.device_ != device) return;
  const auto pass_on = [&](Event::Action action) {
    observation.traced(action, entry.addr_, static_cast<Bytes>(entry.size_),
                       reinterpret_cast<std::uint64_t>(entry.stream_));
  };
  switch (entry.action_) {
    case Entry::ALLOC:
      return pass_on(Event::Action::allocate);
    case Entry::FREE_REQUESTED:
      return pass_on(Event::Action::free);
    case Entry::SEGMENT_ALLOC:
    case Entry::SEGMENT_MAP:
      return pass_on(Event::Action::segment);
    case Entry::SEGMENT_FREE:
    case Entry::SEGMENT_UNMAP:
      return pass_on(Event::Action::segment_free);
    case Entry::FREE_COMPLETED:
      return pass_on(Event::Action::free_completed);
    default:
      return;
  }
}

Segment segment_of(const allocator::SegmentInfo& from, const Observation& observation) {
  Segment segment{from.address, static_cast<Bytes>(from.total_size),
                  reinterpret_cast<std::uint64_t>(from.stream), from.is_large, from.is_expandable};
  std::uint64_t address = from.address;
  for (const allocator::BlockInfo& block : from.blocks) {
    const Observation::Live* live = observation.live_at(address);
    segment.blocks.push_back({address, static_cast<Bytes>(block.size),
                              static_cast<Bytes>(block.requested_size), block.allocated,
                              live == nullptr ? Origin{} : live->origin});
    address += block.size;
  }
  return segment;
}

#endif

}  // namespace

std::function<Bytes()> device_bytes_of([[maybe_unused]] const c10::Device& device) {
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) {
    return [device, last = Bytes{0}]() mutable {
      if (capturing()) return last;
      const auto [free, total] = allocator::get()->getMemoryInfo(device.index());
      return last = static_cast<Bytes>(total - free);
    };
  }
#endif
  return &resident_bytes;
}

Level allocator_level([[maybe_unused]] const c10::Device& device) {
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) {
    constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const auto stats = allocator::getDeviceStats(device.index());
    return {stats.allocated_bytes[all].current, stats.reserved_bytes[all].current};
  }
#endif
  return {};
}

AllocatorTrace::AllocatorTrace([[maybe_unused]] const c10::Device& device,
                               [[maybe_unused]] const std::shared_ptr<Observation>& observation) {
#if ASSAY_WITH_CUDA
  if (!device.is_cuda()) return;
  // A tracker stays attached: it must outlive what it reports to. The allocator's own history, of
  // one entry, only has it trace at all.
  if (allocator::get()->name() != "native") {
    throw Unsupported("the allocator '" + allocator::get()->name() + "' has no trace");
  }
  allocator::attachAllocatorTraceTracker(
      [index = device.index(),
       to = std::weak_ptr<Observation>(observation)](const allocator::TraceEntry& entry) {
        if (const auto alive = to.lock()) take(entry, index, *alive);
      });
  allocator::recordHistory(true, nullptr, 1, allocator::RecordContext::NEVER,
                           /*clearHistory=*/true, {});
  on_ = true;
#endif
}

AllocatorTrace::~AllocatorTrace() {
#if ASSAY_WITH_CUDA
  if (!on_) return;
  try {
    allocator::recordHistory(false, nullptr, 1, allocator::RecordContext::NEVER,
                             /*clearHistory=*/true, {});
  } catch (const std::exception&) {
    // The worker is replaced anyway.
  }
#endif
}

std::vector<Segment> segments_of(const c10::Device& device, const Observation& observation) {
  std::vector<Segment> segments;
  if (device.is_cpu()) segments = live_allocations(observation);
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) {
    const auto state = allocator::snapshot({0, 0}, /*include_traces=*/false);
    for (const allocator::SegmentInfo& each : state.segments) {
      if (each.device == device.index()) segments.push_back(segment_of(each, observation));
    }
  }
#endif
  std::ranges::sort(segments, {}, &Segment::address);
  return segments;
}

}  // namespace assay::memory
