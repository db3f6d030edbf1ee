#include <assay/attention.h>

#include "options.h"

// `flash_portable` of a build without its kernels: without nvcc, or for older GPUs. It is never
// another kernel.
namespace {

class FlashPortableNotBuilt final : public assay::Attention {
 public:
  static std::vector<assay::ParameterInfo> options() { return assay::flash_portable::options(); }
  explicit FlashPortableNotBuilt(const assay::Options&) {}

  bool grouped() const override { return true; }
  bool windowed() const override { return true; }
  bool has_backward() const override { return true; }

  std::optional<std::string> unsupported(const assay::AttentionInputs&) const override {
    return "its kernels for compute capability 8.0 or newer are not in this build";
  }

  at::Tensor forward(const assay::AttentionInputs& in) override {
    throw assay::Unsupported(*unsupported(in));
  }
};

}  // namespace

ASSAY_PLUGIN(FlashPortableNotBuilt, "flash_portable",
             "FlashAttention in CUDA C++ from compute capability 8.0: not in this build.")
