#include <ATen/ops/rms_norm.h>
#include <assay/norm.h>

namespace {

class RmsNormLibTorch final : public assay::Norm {
 public:
  at::Tensor forward(const assay::NormInputs& in) override {
    // LibTorch fuses only operands of one dtype.
    return at::rms_norm(in.x, {in.x.size(-1)}, in.weight.to(in.x.scalar_type()), in.eps);
  }
};

}  // namespace

ASSAY_PLUGIN(RmsNormLibTorch, "rmsnorm_libtorch", "LibTorch's RMSNorm, one kernel on a GPU.")
