#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <assay/reference.h>

#include <vector>

#ifdef ASSAY_WITH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#endif

namespace assay::reference {

namespace {

// The CUDA allocator keeps blocks below 1 MiB in segments of 2 MiB of their own.
constexpr std::int64_t small_block = 512 * 1024;
constexpr int small_blocks = 16;

// Bytes 0xFF are a NaN in every floating-point format.
void fill_free_memory(at::Device device, std::int64_t bytes) {
#ifdef ASSAY_WITH_CUDA
  // Otherwise the allocator would hand out free blocks of earlier work before these.
  c10::cuda::CUDACachingAllocator::emptyCache();
#endif
  const auto options = at::TensorOptions().device(device).dtype(at::kByte);
  std::vector<at::Tensor> blocks;
  blocks.push_back(at::empty({bytes}, options));
  for (int i = 0; i < small_blocks; ++i) blocks.push_back(at::empty({small_block}, options));
  for (auto& block : blocks) block.fill_(0xFF);
}

}  // namespace

PoisonedMemory::PoisonedMemory(at::Device device, std::int64_t bytes) : on_cpu_(device.is_cpu()) {
  if (!on_cpu_) {
    fill_free_memory(device, bytes);
    return;
  }
  auto& context = at::globalContext();
  was_deterministic_ = context.deterministicAlgorithms();
  was_warn_only_ = context.deterministicAlgorithmsWarnOnly();
  was_filling_ = context.deterministicFillUninitializedMemory();
  context.setDeterministicAlgorithms(true, /*warn_only=*/true);
  context.setDeterministicFillUninitializedMemory(true);
}

PoisonedMemory::~PoisonedMemory() {
  if (!on_cpu_) return;
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(was_deterministic_, was_warn_only_);
  context.setDeterministicFillUninitializedMemory(was_filling_);
}

}  // namespace assay::reference
