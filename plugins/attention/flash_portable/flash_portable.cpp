#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <assay/attention.h>
#include <device/fit.cuh>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "launch.h"
#include "options.h"

// The project's FlashAttention for any GPU from compute capability 8.0: Dao 2023,
// "FlashAttention-2". The kernels are in forward.cuh, query_gradient.cuh and key_gradient.cuh.
namespace {

using assay::AttentionGradients;
using assay::AttentionInputs;
using assay::AttentionOutput;
using assay::flash_portable::Launcher;

constexpr std::int64_t largest_head = 256;
constexpr std::int64_t longest = std::int64_t(1) << 29;

// Kernels read and write 16 bytes at once.
bool is_aligned(const at::Tensor& tensor) {
  const std::int64_t elements = 16 / tensor.element_size();
  if (reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 16 != 0) return false;
  for (int dim = 0; dim < 3; ++dim) {
    if (tensor.size(dim) > 1 && tensor.stride(dim) % elements != 0) return false;
  }
  return tensor.stride(3) == 1;
}

at::Tensor readable(const at::Tensor& tensor) {
  return is_aligned(tensor) ? tensor : tensor.clone(at::MemoryFormat::Contiguous);
}

// Like `tensor`, with strides that kernels can write with.
at::Tensor written_like(const at::Tensor& tensor) {
  auto made = at::empty_like(tensor);
  return is_aligned(made) ? made : at::empty(tensor.sizes(), tensor.options());
}

assay::flash_portable::Operand operand(const at::Tensor& tensor, void* data) {
  return {data, tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

assay::flash_portable::Operand input(const at::Tensor& tensor) {
  return operand(tensor, const_cast<void*>(tensor.const_data_ptr()));
}

assay::flash_portable::Operand output(const at::Tensor& tensor) {
  return operand(tensor, tensor.mutable_data_ptr());
}

std::optional<Launcher> launcher_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBFloat16:
      return assay::flash_portable::bf16();
    case at::kHalf:
      return assay::flash_portable::fp16();
    case at::kFloat:
      return assay::flash_portable::fp32();
    default:
      return {};
  }
}

// The inputs as the kernels take them: they take a row's largest score for that of the largest
// weight, so the scale is above 0. A sign, and a scale of 0, go to the queries.
struct KernelInputs {
  at::Tensor q, k, v;
  double query_factor;  // q is query_factor · the inputs' q
  assay::flash_portable::Shape shape;

  explicit KernelInputs(const AttentionInputs& in)
      : k(readable(in.k)),
        v(readable(in.v)),
        query_factor(in.scale > 0   ? 1
                     : in.scale < 0 ? -1
                                    : 0),
        shape{.batch = static_cast<int>(in.q.size(0)),
              .heads = static_cast<int>(in.q.size(1)),
              .kv_heads = static_cast<int>(in.k.size(1)),
              .queries = static_cast<int>(in.q.size(2)),
              .keys = static_cast<int>(in.k.size(2)),
              .head = static_cast<int>(in.q.size(3)),
              .causal = in.causal,
              .window = static_cast<int>(std::min(in.window, 2 * longest)),
              .scale = static_cast<float>(in.scale == 0 ? 1 : std::abs(in.scale))} {
    q = readable(query_factor == 1 ? in.q : in.q * query_factor);
  }
};

class FlashPortable final : public assay::Attention {
 public:
  static std::vector<assay::ParameterInfo> options() { return assay::flash_portable::options(); }
  explicit FlashPortable(const assay::Options&) {}

  bool grouped() const override { return true; }
  bool windowed() const override { return true; }
  bool has_backward() const override { return true; }

  std::optional<std::string> unsupported(const AttentionInputs& in) const override {
    if (!in.q.is_cuda()) return "it needs a GPU of compute capability 8.0 or newer";
    const auto* device = at::cuda::getDeviceProperties(in.q.get_device());
    if (device->major < 8) {
      return "it needs a GPU of compute capability 8.0 or newer, not " +
             std::to_string(device->major) + "." + std::to_string(device->minor);
    }
    if (!launcher_of(in.q.scalar_type())) {
      return std::string("it takes fp32, fp16 and bf16, not ") + c10::toString(in.q.scalar_type());
    }
    const auto head = std::to_string(in.q.size(3));
    if (in.q.size(3) % 8 != 0) return "the head size " + head + " is not a multiple of 8";
    if (in.q.size(3) > largest_head) return "the head size " + head + " is above 256";
    if (std::max(in.q.size(2), in.k.size(2)) > longest) return "a sequence is longer than 2^29";
    return refusal(in.q.scalar_type(), static_cast<int>(in.q.size(3)), in.q.get_device());
  }

  at::Tensor forward(const AttentionInputs& in) override { return forward_with_lse(in).out; }

  AttentionOutput forward_with_lse(const AttentionInputs& in) override {
    if (const auto reason = unsupported(in)) throw assay::Unsupported(*reason);
    AttentionOutput made = {
        written_like(in.q),
        at::empty({in.q.size(0), in.q.size(1), in.q.size(2)}, in.q.options().dtype(at::kFloat))};
    if (in.k.size(2) == 0) {
      made.out.zero_();
      made.lse.fill_(-std::numeric_limits<double>::infinity());
    }
    if (in.q.numel() == 0 || in.k.size(2) == 0) return made;
    const KernelInputs kernel(in);
    launcher_of(in.q.scalar_type())
        ->forward({.shape = kernel.shape,
                   .q = input(kernel.q),
                   .k = input(kernel.k),
                   .v = input(kernel.v),
                   .out = output(made.out),
                   .lse = made.lse.mutable_data_ptr<float>()},
                  at::cuda::getCurrentCUDAStream());
    return made;
  }

  AttentionGradients backward(const AttentionInputs& in, const at::Tensor& out,
                              const at::Tensor& lse, const at::Tensor& dout) override {
    if (const auto reason = unsupported(in)) throw assay::Unsupported(*reason);
    AttentionGradients made = {written_like(in.q), written_like(in.k), written_like(in.v)};
    if (in.q.numel() == 0 || in.k.numel() == 0) {
      made.dq.zero_();
      made.dk.zero_();
      made.dv.zero_();
      return made;
    }
    const KernelInputs kernel(in);
    const auto read_out = readable(out), read_dout = readable(dout);
    const auto read_lse = lse.contiguous();
    const auto dots = at::empty_like(read_lse);
    launcher_of(in.q.scalar_type())
        ->backward({.shape = kernel.shape,
                    .q = input(kernel.q),
                    .k = input(kernel.k),
                    .v = input(kernel.v),
                    .out = input(read_out),
                    .dout = input(read_dout),
                    .dq = output(made.dq),
                    .dk = output(made.dk),
                    .dv = output(made.dv),
                    .lse = read_lse.const_data_ptr<float>(),
                    .dots = dots.mutable_data_ptr<float>()},
                   at::cuda::getCurrentCUDAStream());
    if (kernel.query_factor != 1) made.dq.mul_(kernel.query_factor);
    return made;
  }

  // The log-sum-exp of each query, kept by every block of a model, and in a backward dout · out.
  static std::string memory_estimate() {
    return "batch * heads * seq_len * 4 * (if(workload == model_step && runs_backward > 0, layers, "
           "1) + if(runs_backward > 0, 1, 0))";
  }

 private:
  // Why the device does not take the tile, with resource, need and limit. Asked once, before the
  // first launch.
  std::optional<std::string> refusal(at::ScalarType dtype, int head, int device) const {
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

  mutable std::map<std::tuple<at::ScalarType, int, int>, std::optional<std::string>> refusals_;
};

}  // namespace

ASSAY_PLUGIN(FlashPortable, "flash_portable",
             "FlashAttention in CUDA C++ for GPUs from compute capability 8.0: fp32, fp16, bf16.")
