#include <ATen/ops/layer_norm.h>
#include <assay/norm.h>

namespace {

class LayerNorm final : public assay::Norm {
 public:
  bool has_bias() const override { return true; }

  at::Tensor forward(const assay::NormInputs& in) override {
    const auto dtype = weight_dtype(in.x);
    const auto bias = in.bias.defined() ? std::optional(in.bias.to(dtype)) : std::nullopt;
    return at::layer_norm(in.x, {in.x.size(-1)}, in.weight.to(dtype), bias, in.eps);
  }

 private:
  // LibTorch wants the dtype of x; on a CPU it also takes fp32 beside fp16 and bf16, and only then
  // keeps mean and deviation in fp32.
  static at::ScalarType weight_dtype(const at::Tensor& x) {
    return x.is_cpu() && x.element_size() < 4 ? at::kFloat : x.scalar_type();
  }
};

}  // namespace

ASSAY_PLUGIN(LayerNorm, "layernorm", "LibTorch's LayerNorm with weight and bias.")
