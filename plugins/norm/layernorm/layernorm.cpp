#include <ATen/ops/layer_norm.h>
#include <assay/norm.h>

namespace {

class LayerNorm final : public assay::Norm {
 public:
  bool has_bias() const override { return true; }

  at::Tensor forward(const assay::NormInputs& in) override {
    const auto dtype = in.x.scalar_type();
    const auto bias = in.bias.defined() ? std::optional(in.bias.to(dtype)) : std::nullopt;
    return at::layer_norm(in.x, {in.x.size(-1)}, in.weight.to(dtype), bias, in.eps);
  }
};

}  // namespace

ASSAY_PLUGIN(LayerNorm, "layernorm", "LibTorch's LayerNorm with weight and bias.")
