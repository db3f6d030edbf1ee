#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <assay/attention.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backward/backward.h"
#include "launch.h"
#include "options.h"

// The project's FlashAttention for Hopper: Dao 2023, "FlashAttention-2"; Shah et al. 2024,
// "FlashAttention-3". The kernels are in forward.cuh and backward.cuh.
namespace {

using assay::AttentionGradients;
using assay::AttentionInputs;
using assay::AttentionOutput;

constexpr std::int64_t largest_head = 128;
constexpr std::int64_t alignment = 8;  // elements of 2 bytes: the copy engine counts in 16 bytes

bool copy_engine_takes(const at::Tensor& tensor) {
  if (reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 16 != 0) return false;
  for (int dim = 0; dim < 3; ++dim) {
    const auto stride = tensor.stride(dim);
    if (tensor.size(dim) > 1 && (stride <= 0 || stride % alignment != 0)) return false;
  }
  return tensor.stride(3) == 1;
}

at::Tensor readable(const at::Tensor& tensor) {
  return copy_engine_takes(tensor) ? tensor : tensor.clone(at::MemoryFormat::Contiguous);
}

assay::flash::Operand operand(const at::Tensor& tensor, void* data) {
  return {data, tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

assay::flash::Operand input(const at::Tensor& tensor) {
  return operand(tensor, const_cast<void*>(tensor.const_data_ptr()));
}

assay::flash::Shape shape_of(const AttentionInputs& in, double scale) {
  constexpr std::int64_t widest = 1 << 30;  // beyond any sequence, with room to add a position
  return {.batch = static_cast<int>(in.q.size(0)),
          .heads = static_cast<int>(in.q.size(1)),
          .kv_heads = static_cast<int>(in.k.size(1)),
          .queries = static_cast<int>(in.q.size(2)),
          .keys = static_cast<int>(in.k.size(2)),
          .head = static_cast<int>(in.q.size(3)),
          .causal = in.causal,
          .window = static_cast<int>(std::min(in.window, widest)),
          .scale = static_cast<float>(scale * std::log2(std::exp(1.0)))};
}

// Like `tensor`, with strides that the copy engine takes.
at::Tensor written_like(const at::Tensor& tensor) {
  auto made = at::empty_like(tensor);
  return copy_engine_takes(made) ? made : at::empty(tensor.sizes(), tensor.options());
}

assay::flash::Operand output(const at::Tensor& tensor) {
  return operand(tensor, tensor.mutable_data_ptr());
}

// The inputs as the kernels take them: they take a row's largest score for that of the largest
// weight, so the scale is above 0. A sign, and a scale of 0, go to the queries.
struct KernelInputs {
  at::Tensor q, k, v;
  double scale, query_factor;  // q is query_factor · the inputs' q

  explicit KernelInputs(const AttentionInputs& in)
      : k(readable(in.k)),
        v(readable(in.v)),
        scale(in.scale == 0 ? 1 : std::abs(in.scale)),
        query_factor(in.scale > 0   ? 1
                     : in.scale < 0 ? -1
                                    : 0) {
    q = readable(query_factor == 1 ? in.q : in.q * query_factor);
  }
};

class Flash final : public assay::Attention {
 public:
  static std::vector<assay::ParameterInfo> options() { return assay::flash::options(); }
  explicit Flash(const assay::Options& options)
      : deterministic_(assay::boolean_option(options, "deterministic")) {}

  bool grouped() const override { return true; }
  bool windowed() const override { return true; }
  bool has_backward() const override { return true; }

  std::optional<std::string> unsupported(const AttentionInputs& in) const override {
    if (!in.q.is_cuda()) {
      return "it needs a GPU of compute capability 9.0; LibTorch's is flash_libtorch";
    }
    const auto* device = at::cuda::getDeviceProperties(in.q.get_device());
    if (device->major != 9 || device->minor != 0) {
      return "it needs a GPU of compute capability 9.0, not " + std::to_string(device->major) +
             "." + std::to_string(device->minor) + "; LibTorch's is flash_libtorch";
    }
    if (in.q.scalar_type() != at::kHalf && in.q.scalar_type() != at::kBFloat16) {
      return std::string("it takes fp16 and bf16, not ") + c10::toString(in.q.scalar_type());
    }
    const auto head = std::to_string(in.q.size(3));
    if (in.q.size(3) % alignment != 0) return "the head size " + head + " is not a multiple of 8";
    if (in.q.size(3) > largest_head) return "the head size " + head + " is above 128";
    return {};
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
    const auto shape = shape_of(in, kernel.scale);
    auto workspace =
        at::empty({assay::flash::workspace_bytes(shape)}, in.q.options().dtype(at::kByte));
    assay::flash::forward({.shape = shape,
                           .q = input(kernel.q),
                           .k = input(kernel.k),
                           .v = input(kernel.v),
                           .out = output(made.out),
                           .bf16 = in.q.scalar_type() == at::kBFloat16,
                           .lse = made.lse.mutable_data_ptr<float>(),
                           .workspace = workspace.mutable_data_ptr()},
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
    const auto shape = shape_of(in, kernel.scale);
    auto workspace = at::empty({assay::flash::backward_workspace_bytes(shape, deterministic_)},
                               in.q.options().dtype(at::kByte));
    assay::flash::backward({.shape = shape,
                            .natural_scale = static_cast<float>(kernel.scale),
                            .q = input(kernel.q),
                            .k = input(kernel.k),
                            .v = input(kernel.v),
                            .out = input(read_out),
                            .dout = input(read_dout),
                            .dq = output(made.dq),
                            .dk = output(made.dk),
                            .dv = output(made.dv),
                            .bf16 = in.q.scalar_type() == at::kBFloat16,
                            .lse = read_lse.const_data_ptr<float>(),
                            .in_turns = deterministic_,
                            .workspace = workspace.mutable_data_ptr()},
                           at::cuda::getCurrentCUDAStream());
    if (kernel.query_factor != 1) made.dq.mul_(kernel.query_factor);
    return made;
  }

  // The log-sum-exp of each query, kept by every block of a model, and, in a backward, the sums of
  // dQ in fp32, D and the log-sum-exp once more.
  static std::string memory_estimate() {
    return "batch * heads * seq_len * (4 * if(workload == model_step && runs_backward > 0, layers, "
           "1) + if(runs_backward > 0, 8 + 4 * if(workload == attention && d_head <= 64, 64, "
           "128), 0))";
  }

 private:
  bool deterministic_;
};

}  // namespace

ASSAY_PLUGIN(Flash, "flash", "FlashAttention in CUDA C++ for Hopper: fp16 and bf16.")
