#include <ATen/ops/layer_norm.h>
#include <assay/norm.h>

namespace {

class LayerNorm final : public assay::Norm {
 public:
  bool has_bias() const override { return true; }

  at::Tensor forward(const assay::NormInputs& in) override {
    const auto x = in.x.to(computed_in(in.x));
    const auto bias = in.bias.defined() ? std::optional(in.bias.to(x.scalar_type())) : std::nullopt;
    return at::layer_norm(x, {x.size(-1)}, in.weight.to(x.scalar_type()), bias, in.eps)
        .to(in.x.scalar_type());
  }

 private:
  // On a CPU LibTorch keeps mean and deviation of fp16 and bf16 in those types, and sums the
  // gradients of weight and bias in them.
  static at::ScalarType computed_in(const at::Tensor& x) {
    return x.is_cpu() && x.element_size() < 4 ? at::kFloat : x.scalar_type();
  }
};

}  // namespace

ASSAY_PLUGIN(LayerNorm, "layernorm", "LibTorch's LayerNorm with weight and bias.")
