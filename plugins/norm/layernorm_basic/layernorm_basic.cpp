#include <ATen/ops/rsqrt.h>
#include <assay/norm.h>

namespace {

// (x − mean(x)) / √(var(x) + eps) · weight + bias. Ba, Kiros and Hinton 2016, equations 3 and 4.
class LayerNormBasic final : public assay::Norm {
 public:
  bool has_bias() const override { return true; }

  at::Tensor forward(const assay::NormInputs& in) override {
    const auto wide = in.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto x = in.x.to(wide);
    const auto centred = x - x.mean(-1, /*keepdim=*/true);
    const auto variance = centred.square().mean(-1, /*keepdim=*/true);
    auto out = centred * at::rsqrt(variance + in.eps) * in.weight;
    if (in.bias.defined()) out = out + in.bias;
    return out.to(in.x.scalar_type());
  }
};

}  // namespace

ASSAY_PLUGIN(LayerNormBasic, "layernorm_basic", "LayerNorm from basic operations, in fp32 inside.")
