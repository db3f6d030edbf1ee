#include <ATen/ops/rsqrt.h>
#include <assay/norm.h>

namespace {

// x / √(mean(x²) + eps) · weight. Zhang and Sennrich 2019, equation 4, with eps.
class RmsNorm final : public assay::Norm {
 public:
  at::Tensor forward(const assay::NormInputs& in) override {
    const auto wide = in.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto x = in.x.to(wide);
    const auto mean_square = x.square().mean(-1, /*keepdim=*/true);
    return (x * at::rsqrt(mean_square + in.eps) * in.weight).to(in.x.scalar_type());
  }
};

}  // namespace

ASSAY_PLUGIN(RmsNorm, "rmsnorm", "RMSNorm from basic operations, in fp32 inside.")
