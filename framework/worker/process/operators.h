#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace c10 {
class KernelFunction;
namespace impl {
class OperatorEntry;
}
}  // namespace c10

namespace assay::worker {

// The kernels that LibTorch's own operators lead to on the tensors that are measured here. Every
// plugin and the reference share them, so none may change: a plugin registers operators of its own
// instead.
class Operators {
 public:
  // Those that are registered now.
  Operators();
  // An operator that leads elsewhere than when this was made, "aten::mm"; nothing where none does.
  // Takes a fraction of a millisecond.
  std::optional<std::string> changed() const;

 private:
  struct Operator {
    const c10::impl::OperatorEntry* entry;
    std::size_t first_kernel;  // in kernels_; its last is before the next operator's first
    std::uint64_t hash;        // of its kernels
  };
  std::uint64_t hash_of(std::size_t first_kernel, std::size_t end) const;

  std::vector<const c10::KernelFunction*> kernels_;  // in LibTorch's tables, where they stay
  std::vector<Operator> operators_;
};

}  // namespace assay::worker
