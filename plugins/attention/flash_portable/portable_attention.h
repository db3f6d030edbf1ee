#pragma once

#include <assay/attention.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace assay::flash_portable {

// The kernels from tensors to launches, on the GPU of the inputs and its current stream. One at a
// time uses an object.
class PortableAttention {
 public:
  // Why the kernels do not take `in`; nothing where they do.
  std::optional<std::string> refusal(const AttentionInputs& in) const;

  // Of inputs that are not refused.
  AttentionOutput forward(const AttentionInputs& in) const;
  // Equal to the bit in every run.
  AttentionGradients backward(const AttentionInputs& in, const at::Tensor& out,
                              const at::Tensor& lse, const at::Tensor& dout) const;

 private:
  // Why the device does not take the tile, with resource, need and limit. Asked once, before the
  // first launch.
  std::optional<std::string> refusal(at::ScalarType dtype, int head, int device) const;

  mutable std::map<std::tuple<at::ScalarType, int, int>, std::optional<std::string>> refusals_;
};

}  // namespace assay::flash_portable
