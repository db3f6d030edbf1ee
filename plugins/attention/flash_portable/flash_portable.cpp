#include <ATen/cuda/CUDAContext.h>
#include <assay/attention.h>

#include "options.h"
#include "portable_attention.h"

// The project's FlashAttention for any GPU from compute capability 8.0: Dao 2023,
// "FlashAttention-2". The kernels are in forward.cuh, query_gradient.cuh and key_gradient.cuh.
namespace {

using assay::AttentionGradients;
using assay::AttentionInputs;
using assay::AttentionOutput;

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
    return kernels_.refusal(in);
  }

  at::Tensor forward(const AttentionInputs& in) override { return forward_with_lse(in).out; }

  AttentionOutput forward_with_lse(const AttentionInputs& in) override {
    if (const auto reason = unsupported(in)) throw assay::Unsupported(*reason);
    return kernels_.forward(in);
  }

  AttentionGradients backward(const AttentionInputs& in, const at::Tensor& out,
                              const at::Tensor& lse, const at::Tensor& dout) override {
    if (const auto reason = unsupported(in)) throw assay::Unsupported(*reason);
    return kernels_.backward(in, out, lse, dout);
  }

  // The log-sum-exp of each query, kept by every block of a model, and in a backward dout · out.
  static std::string memory_estimate() {
    return "batch * heads * seq_len * 4 * (if(workload == model_step && runs_backward > 0, layers, "
           "1) + if(runs_backward > 0, 1, 0))";
  }

 private:
  assay::flash_portable::PortableAttention kernels_;
};

}  // namespace

ASSAY_PLUGIN(FlashPortable, "flash_portable",
             "FlashAttention in CUDA C++ for GPUs from compute capability 8.0: fp32, fp16, bf16.")
