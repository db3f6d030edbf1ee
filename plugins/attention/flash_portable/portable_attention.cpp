#include "portable_attention.h"

#include <ATen/cuda/CUDAContext.h>
#include <device/fit.cuh>

#include <algorithm>

#include "kernel_tensors.h"
#include "launch.h"

namespace assay::flash_portable {

namespace {

using attention::GradientsToWrite;
using attention::input;
using attention::KernelInputs;
using attention::output;
using attention::OutputToWrite;

constexpr auto strides = attention::Strides::any;
constexpr std::int64_t largest_head = 256;
constexpr std::int64_t longest = std::int64_t(1) << 29;

std::optional<Launcher> launcher_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBFloat16:
      return bf16();
    case at::kHalf:
      return fp16();
    case at::kFloat:
      return fp32();
    default:
      return {};
  }
}

}  // namespace

std::optional<std::string> PortableAttention::refusal(const AttentionInputs& in) const {
  const auto dtype = in.q.scalar_type();
  if (!launcher_of(dtype)) {
    return std::string("it takes fp32, fp16 and bf16, not ") + c10::toString(dtype);
  }
  const auto head = std::to_string(in.q.size(3));
  if (in.q.size(3) % 8 != 0) return "the head size " + head + " is not a multiple of 8";
  if (in.q.size(3) > largest_head) return "the head size " + head + " is above 256";
  if (std::max(in.q.size(2), in.k.size(2)) > longest) return "a sequence is longer than 2^29";
  return refusal(dtype, static_cast<int>(in.q.size(3)), in.q.get_device());
}

AttentionOutput PortableAttention::forward(const AttentionInputs& in) const {
  OutputToWrite result(in, strides);
  if (!result.has_work) return result.made;
  const KernelInputs kernel(in, strides);
  launcher_of(in.q.scalar_type())
      ->forward({.shape = attention::shape_of<Shape>(in, kernel.scale),
                 .q = input<Operand>(kernel.q),
                 .k = input<Operand>(kernel.k),
                 .v = input<Operand>(kernel.v),
                 .out = output<Operand>(result.made.out),
                 .lse = result.made.lse.mutable_data_ptr<float>()},
                at::cuda::getCurrentCUDAStream());
  return result.made;
}

AttentionGradients PortableAttention::backward(const AttentionInputs& in, const at::Tensor& out,
                                               const at::Tensor& lse,
                                               const at::Tensor& dout) const {
  GradientsToWrite result(in, strides);
  if (!result.has_work) return result.made;
  const KernelInputs kernel(in, strides);
  const auto read_out = attention::readable(out, strides);
  const auto read_dout = attention::readable(dout, strides);
  const auto read_lse = lse.contiguous();
  const auto dots = at::empty_like(read_lse);
  launcher_of(in.q.scalar_type())
      ->backward({.shape = attention::shape_of<Shape>(in, kernel.scale),
                  .q = input<Operand>(kernel.q),
                  .k = input<Operand>(kernel.k),
                  .v = input<Operand>(kernel.v),
                  .out = input<Operand>(read_out),
                  .dout = input<Operand>(read_dout),
                  .dq = output<Operand>(result.made.dq),
                  .dk = output<Operand>(result.made.dk),
                  .dv = output<Operand>(result.made.dv),
                  .lse = read_lse.const_data_ptr<float>(),
                  .dots = dots.mutable_data_ptr<float>()},
                 at::cuda::getCurrentCUDAStream());
  if (kernel.query_factor != 1) result.made.dq.mul_(kernel.query_factor);
  return result.made;
}

std::optional<std::string> PortableAttention::refusal(at::ScalarType dtype, int head,
                                                      int device) const {
  const auto [found, is_new] = refusals_.try_emplace(std::tuple(dtype, head, device));
  if (!is_new) return found->second;
  const c10::DeviceGuard guard(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)));
  try {
    for (const auto& need : launcher_of(dtype)->needs(head)) {
      assay::device::fit(need.kernel, need.threads, need.shared_bytes);
    }
  } catch (const assay::Unsupported& reason) {
    found->second = reason.what();
  }
  return found->second;
}

}  // namespace assay::flash_portable
