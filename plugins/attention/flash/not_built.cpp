#include <assay/attention.h>

#include "options.h"

// `flash` of a build without its kernels: without nvcc, or for other GPUs. It is never another
// kernel.
namespace {

class FlashNotBuilt final : public assay::Attention {
 public:
  static std::vector<assay::ParameterInfo> options() { return assay::flash::options(); }
  explicit FlashNotBuilt(const assay::Options&) {}

  bool grouped() const override { return true; }
  bool windowed() const override { return true; }
  bool has_backward() const override { return true; }

  std::optional<std::string> unsupported(const assay::AttentionInputs&) const override {
    return "its kernels for compute capability 9.0 are not in this build; LibTorch's is "
           "flash_libtorch";
  }

  at::Tensor forward(const assay::AttentionInputs& in) override {
    throw assay::Unsupported(*unsupported(in));
  }
};

}  // namespace

ASSAY_PLUGIN(FlashNotBuilt, "flash", "FlashAttention in CUDA C++ for Hopper: not in this build.")
