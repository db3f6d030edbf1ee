#include "worker/process/operators.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstring>
#include <iterator>

#include "measure/device.h"

namespace assay::worker {

namespace {

// LibTorch tells nothing of the identity of a kernel. Explicit instantiation may name what is
// private ([temp.spec.general]/6).
template <auto Member>
struct Reach {
  friend auto entry_of(const c10::OperatorHandle& handle) -> const c10::impl::OperatorEntry* {
    return &(handle.*Member)->op;
  }
};
template struct Reach<&c10::OperatorHandle::operatorDef_>;
auto entry_of(const c10::OperatorHandle& handle) -> const c10::impl::OperatorEntry*;

constexpr c10::DispatchKey of_cpu[] = {
    c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutocastCPU,
    c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView};
constexpr c10::DispatchKey of_cuda[] = {c10::DispatchKey::CUDA, c10::DispatchKey::AutogradCUDA,
                                        c10::DispatchKey::AutocastCUDA};

std::vector<c10::DispatchKey> measured_kinds() {
  std::vector<c10::DispatchKey> kinds(std::begin(of_cpu), std::end(of_cpu));
  if (measure::cuda_available()) {
    kinds.insert(kinds.end(), std::begin(of_cuda), std::end(of_cuda));
  }
  return kinds;
}

}  // namespace

Operators::Operators() {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  const auto kinds = measured_kinds();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto handle = dispatcher.findOp(name);
    if (!handle) continue;
    const c10::impl::OperatorEntry* const entry = entry_of(*handle);
    const std::size_t first = kernels_.size();
    for (const c10::DispatchKey kind : kinds) {
      if (!entry->hasComputedKernelForDispatchKey(kind)) continue;
      kernels_.push_back(&entry->lookup(c10::DispatchKeySet(kind)));
    }
    operators_.push_back({entry, first, hash_of(first, kernels_.size())});
  }
}

// Of the bytes of the kernels, which are pointers to functions and to objects that live as long.
std::uint64_t Operators::hash_of(std::size_t first_kernel, std::size_t end) const {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a, a word at a time
  for (std::size_t i = first_kernel; i < end; ++i) {
    std::uint64_t words[sizeof(c10::KernelFunction) / sizeof(std::uint64_t)];
    std::memcpy(words, static_cast<const void*>(kernels_[i]), sizeof words);
    for (const std::uint64_t word : words) hash = (hash ^ word) * 1099511628211u;
  }
  return hash;
}

std::optional<std::string> Operators::changed() const {
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    const Operator& known = operators_[i];
    const std::size_t end =
        i + 1 < operators_.size() ? operators_[i + 1].first_kernel : kernels_.size();
    if (hash_of(known.first_kernel, end) == known.hash) continue;
    const c10::OperatorName& name = known.entry->operator_name();
    return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
  }
  return std::nullopt;
}

}  // namespace assay::worker
