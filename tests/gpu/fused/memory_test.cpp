#include <ATen/ops/randn.h>
#include <assay/reference.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>

#include "fused_here.h"
#include "gpu/device.h"
#include "measure/memory.h"
#include "plugins/support.h"

namespace assay {
namespace {

using Activation = std::function<at::Tensor(const Ops&, const at::Tensor&)>;

class GpuFusedMemory : public testing::Test {
 protected:
  static constexpr std::int64_t rows = 256, columns = 1024;

  void SetUp() override {
    if (const std::string why = test::why_no_fused(); !why.empty()) GTEST_SKIP() << why;
    plugin_ = test::load<CompileBoundary>("compile", "fused", "fused");
    right_ = reference::operations(/*norm_has_bias=*/false);
    ops_ = right_;
    throw_unless_ok(plugin_->select(ops_, {}));
  }

  static at::Tensor leaf(at::IntArrayRef sizes, std::uint64_t seed,
                         at::ScalarType dtype = at::kFloat) {
    return at::randn(sizes, reference::seeded_generator(at::kCPU, seed),
                     at::TensorOptions(at::kDouble))
        .to(cuda, dtype)
        .requires_grad_();
  }

  // Of the second call: the first leaves the products' workspaces behind.
  std::int64_t kept_by_forward(const Activation& activation, const at::Tensor& in,
                               const at::Tensor& weight) const {
    std::int64_t kept = 0;
    for (int i = 0; i < 2; ++i) {
      const std::int64_t before = measure::allocated_bytes(cuda);
      const at::Tensor out = ops_.linear(activation(ops_, in), weight);
      kept = measure::allocated_bytes(cuda) - before;
    }
    return kept;
  }

  std::unique_ptr<CompileBoundary> plugin_;  // destroyed last
  Ops ops_, right_;
};

at::Tensor swiglu_of_halves(const Ops& ops, const at::Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  return ops.swiglu(x.narrow(-1, 0, half), x.narrow(-1, half, half));
}

at::Tensor gelu_of_half(const Ops& ops, const at::Tensor& x) {
  return ops.gelu(x.narrow(-1, 0, x.size(-1) / 2));
}

TEST_F(GpuFusedMemory, KeepsActivationsIn16BitsAlone) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const at::Tensor in = leaf({rows, 2 * columns}, 1, dtype),
                     weight = leaf({8, columns}, 2, dtype);
    const auto bytes = static_cast<std::int64_t>(in.element_size());
    const std::int64_t of_result = rows * 8 * bytes, of_activation = rows * columns * bytes;
    for (const Activation& activation : {Activation(swiglu_of_halves), Activation(gelu_of_half)}) {
      const std::int64_t kept = kept_by_forward(activation, in, weight);
      EXPECT_GE(kept, of_result);
      if (dtype == at::kFloat) {
        EXPECT_LT(kept, of_activation);
      } else {
        EXPECT_GE(kept, of_activation + of_result);
      }
    }
  }
}

// Of all leaves, of the weight alone, and of an activation that was changed in place since.
TEST_F(GpuFusedMemory, ActivationsComputedAgainHaveTheRightGradients) {
  const at::Tensor in = leaf({rows, 2 * columns}, 3), weight = leaf({8, columns}, 4);
  const auto doubled = [](const at::Tensor& x) { return x.detach().to(at::kDouble); };
  for (const Activation& activation : {Activation(swiglu_of_halves), Activation(gelu_of_half)}) {
    for (const std::string wanted : {"all", "weight", "weight, activation changed"}) {
      SCOPED_TRACE(wanted);
      const auto gradients = [&](const Ops& ops, const at::Tensor& x, const at::Tensor& w) {
        const at::Tensor made = activation(ops, x);
        if (wanted == "weight, activation changed") made.detach().mul_(2);
        const at::Tensor loss = ops.linear(made, w).square().sum();
        return torch::autograd::grad(
            {loss}, wanted == "all" ? std::vector<at::Tensor>{x, w} : std::vector<at::Tensor>{w});
      };
      const auto mine = gradients(ops_, in, weight);
      const auto right =
          gradients(right_, doubled(in).requires_grad_(), doubled(weight).requires_grad_());
      for (std::size_t i = 0; i < right.size(); ++i) {
        EXPECT_LT(reference::relative_error(mine[i], right[i]), 1e-5) << "gradient " << i;
      }
    }
  }
}

}  // namespace
}  // namespace assay
