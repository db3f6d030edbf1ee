#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <assay/attention.h>

#include <cmath>

#include "attention/flash/backward/backward.h"
#include "attention/flash/forward/forward.h"
#include "attention/flash/options.h"
#include "attention/flash_portable/portable_attention.h"
#include "attention/parts/kernel_tensors.h"

// The project's FlashAttention for Hopper: Dao 2023, "FlashAttention-2"; Shah et al. 2024,
// "FlashAttention-3". The kernels are in forward/, backward/, wide/ (the backward of heads above
// 128) and, of fp32, planes/; fp32's heads above 128 are flash_portable's.
namespace {

using assay::AttentionGradients;
using assay::AttentionInputs;
using assay::AttentionOutput;
using assay::attention::GradientsToWrite;
using assay::attention::KernelInputs;
using assay::attention::OutputToWrite;

constexpr auto strides = assay::attention::Strides::above_zero;

assay::flash::Operand input(const at::Tensor& tensor) {
  return assay::attention::input<assay::flash::Operand>(tensor);
}

assay::flash::Operand output(const at::Tensor& tensor) {
  return assay::attention::output<assay::flash::Operand>(tensor);
}

// Of scores in units of log2.
assay::flash::Shape shape_of(const AttentionInputs& in, double scale) {
  auto shape =
      assay::attention::shape_of<assay::flash::Shape>(in, scale * std::log2(std::exp(1.0)));
  shape.natural_scale = static_cast<float>(scale);
  return shape;
}

// Whether the kernels of wgmma are made for them.
bool has_own_kernels(const AttentionInputs& in) {
  const auto dtype = in.q.scalar_type();
  if (dtype == at::kFloat) return in.q.size(3) <= 128;
  return (dtype == at::kHalf || dtype == at::kBFloat16) && in.q.size(3) <= 256;
}

assay::flash::Format format_of(const at::Tensor& tensor) {
  using assay::flash::Format;
  return tensor.scalar_type() == at::kFloat      ? Format::fp32
         : tensor.scalar_type() == at::kBFloat16 ? Format::bf16
                                                 : Format::fp16;
}

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
    if (!has_own_kernels(in)) {
      if (const auto reason = portable_.refusal(in)) return reason;
    }
    if (in.q.size(3) % 8 != 0) {
      return "the head size " + std::to_string(in.q.size(3)) + " is not a multiple of 8";
    }
    return {};
  }

  at::Tensor forward(const AttentionInputs& in) override { return forward_with_lse(in).out; }

  AttentionOutput forward_with_lse(const AttentionInputs& in) override {
    if (const auto reason = unsupported(in)) throw assay::Unsupported(*reason);
    if (!has_own_kernels(in)) return portable_.forward(in);
    OutputToWrite result(in, strides);
    if (!result.has_work) return result.made;
    const KernelInputs kernel(in, strides);
    const auto shape = shape_of(in, kernel.scale);
    const auto format = format_of(in.q);
    auto workspace =
        at::empty({assay::flash::workspace_bytes(shape, format)}, in.q.options().dtype(at::kByte));
    assay::flash::forward({.shape = shape,
                           .q = input(kernel.q),
                           .k = input(kernel.k),
                           .v = input(kernel.v),
                           .out = output(result.made.out),
                           .format = format,
                           .lse = result.made.lse.mutable_data_ptr<float>(),
                           .workspace = workspace.mutable_data_ptr()},
                          at::cuda::getCurrentCUDAStream());
    return result.made;
  }

  AttentionGradients backward(const AttentionInputs& in, const at::Tensor& out,
                              const at::Tensor& lse, const at::Tensor& dout) override {
    if (const auto reason = unsupported(in)) throw assay::Unsupported(*reason);
    if (!has_own_kernels(in)) return portable_.backward(in, out, lse, dout);
    GradientsToWrite result(in, strides);
    if (!result.has_work) return result.made;
    const KernelInputs kernel(in, strides);
    const auto read_out = assay::attention::readable(out, strides);
    const auto read_dout = assay::attention::readable(dout, strides);
    const auto read_lse = lse.contiguous();
    const auto shape = shape_of(in, kernel.scale);
    const auto format = format_of(in.q);
    auto workspace =
        at::empty({assay::flash::backward_workspace_bytes(shape, format, deterministic_)},
                  in.q.options().dtype(at::kByte));
    assay::flash::backward({.shape = shape,
                            .q = input(kernel.q),
                            .k = input(kernel.k),
                            .v = input(kernel.v),
                            .out = input(read_out),
                            .dout = input(read_dout),
                            .dq = output(result.made.dq),
                            .dk = output(result.made.dk),
                            .dv = output(result.made.dv),
                            .format = format,
                            .lse = read_lse.const_data_ptr<float>(),
                            .in_turns = deterministic_,
                            .workspace = workspace.mutable_data_ptr()},
                           at::cuda::getCurrentCUDAStream());
    if (kernel.query_factor != 1) result.made.dq.mul_(kernel.query_factor);
    return result.made;
  }

  // The log-sum-exp of each query, kept by every block of a model, and, in a backward, D and, but
  // of fp32 heads above 128, the log-sum-exp once more and the sums of dQ in fp32. Of fp32 q, k and
  // v in planes, and in a backward dO.
  static std::string memory_estimate() {
    const std::string columns =
        "if(workload == attention, if(d_head <= 64, 64, if(d_head <= 128, 128, "
        "if(element_size < 4, 256, 0))), 128)";
    const std::string planes = "if(element_size < 4, 0, 6 * " + columns + ")";
    return "batch * heads * seq_len * (4 * if(workload == model_step && runs_backward > 0, layers, "
           "1) + if(runs_backward > 0, 8 + 4 * " +
           columns + " + 4 * " + planes + ", 3 * " + planes + "))";
  }

 private:
  bool deterministic_;
  assay::flash_portable::PortableAttention portable_;
};

}  // namespace

ASSAY_PLUGIN(Flash, "flash", "FlashAttention in CUDA C++ for Hopper: fp32, fp16 and bf16.")
