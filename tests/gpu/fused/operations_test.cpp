#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <assay/gradient_place.h>
#include <assay/reference.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>

#include "fused_here.h"
#include "gpu/device.h"
#include "model/autocast.h"
#include "plugins/support.h"

namespace assay {
namespace {

using Tensors = std::vector<at::Tensor>;

// How an operation is called: its inputs' dtype, and that of the products under autocast.
struct Numbers {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::optional<at::ScalarType> autocast = {};
};

void PrintTo(const Numbers& numbers, std::ostream* stream) { *stream << numbers.name; }

at::Tensor drawn_normal(at::IntArrayRef sizes, std::uint64_t seed) {
  return at::randn(sizes, reference::seeded_generator(at::kCPU, seed),
                   at::TensorOptions(at::kDouble));
}

// The operations that `fused` selects beside the textbook's in float64.
class GpuFusedOperations : public testing::TestWithParam<Numbers> {
 protected:
  using Operation = std::function<Tensors(const Ops&, const Tensors&)>;

  void SetUp() override {
    if (const std::string why = test::why_no_fused(); !why.empty()) GTEST_SKIP() << why;
    plugin_ = test::load<CompileBoundary>("compile", "fused", "fused");
    ops_ = right_ = reference::operations(/*norm_has_bias=*/false);
    throw_unless_ok(plugin_->select(ops_, {}));
    model::complete(ops_);
    model::complete(right_);
  }

  at::ScalarType narrow() const { return GetParam().autocast.value_or(GetParam().dtype); }
  double tolerance() const { return reference::tolerance(narrow()); }

  // Leaves: float64 values, rounded as `dtypes` say, or as the test's dtype. Compares results and
  // all gradients of floating leaves.
  void compare(const std::string& what, const Operation& operation, const Tensors& values,
               std::vector<at::ScalarType> dtypes = {}) {
    SCOPED_TRACE(what);
    dtypes.resize(values.size(), GetParam().dtype);
    Tensors mine, right;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool floats = values[i].is_floating_point();
      mine.push_back(floats ? values[i].to(cuda, dtypes[i]) : values[i].to(cuda));
      right.push_back(floats ? mine.back().to(at::kDouble) : mine.back());
      if (!floats) continue;
      mine.back().requires_grad_();
      right.back().requires_grad_();
    }
    Tensors made;
    {
      const model::Autocast autocast(cuda, GetParam().autocast);
      made = operation(ops_, mine);
    }
    const Tensors expected = operation(right_, right);
    Tensors douts, right_douts;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const at::Tensor dout =
          made[i].dim() == 0
              ? at::ones({}, made[i].options())
              : drawn_normal(made[i].sizes(), 90 + i).to(cuda, made[i].scalar_type());
      douts.push_back(dout);
      right_douts.push_back(dout.to(at::kDouble));
      near("result", made[i], expected[i], tolerance());
    }
    torch::autograd::backward(made, douts);
    torch::autograd::backward(expected, right_douts);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (!mine[i].is_floating_point()) continue;
      if (!right[i].grad().defined()) {
        EXPECT_TRUE(!mine[i].grad().defined() || mine[i].grad().eq(0).all().item<bool>());
        continue;
      }
      ASSERT_TRUE(mine[i].grad().defined()) << "leaf " << i;
      EXPECT_EQ(mine[i].grad().scalar_type(), mine[i].scalar_type());
      near("gradient of leaf " + std::to_string(i), mine[i].grad(), right[i].grad(),
           reference::gradient_allowance * tolerance());
    }
  }

  static void near(const std::string& name, const at::Tensor& value, const at::Tensor& right,
                   double tolerance) {
    Verification verification;
    reference::compare(verification, name, value, right, tolerance);
    EXPECT_LE(verification.error, verification.tolerance) << verification.worst;
  }

  std::unique_ptr<CompileBoundary> plugin_;  // destroyed last
  Ops ops_, right_;
};

TEST_P(GpuFusedOperations, Swiglu) {
  for (const std::int64_t columns : {1, 7, 8, 40, 1000, 1001, 4104}) {
    const auto text = std::to_string(columns) + " columns";
    compare(text + ", apart",
            [](const Ops& ops, const Tensors& in) { return Tensors{ops.swiglu(in[0], in[1])}; },
            {drawn_normal({3, 5, columns}, 1) * 4, drawn_normal({3, 5, columns}, 2)},
            {narrow(), narrow()});
    compare(text + ", halves of one",
            [columns](const Ops& ops, const Tensors& in) {
              return Tensors{
                  ops.swiglu(in[0].narrow(-1, 0, columns), in[0].narrow(-1, columns, columns))};
            },
            {drawn_normal({3, 5, 2 * columns}, 3) * 4}, {narrow()});
  }
}

TEST_P(GpuFusedOperations, Gelu) {
  for (const std::int64_t columns : {1, 7, 8, 40, 1000, 1001, 4104}) {
    const auto text = std::to_string(columns) + " columns";
    compare(text, [](const Ops& ops, const Tensors& in) { return Tensors{ops.gelu(in[0])}; },
            {drawn_normal({3, 5, columns}, 1) * 4}, {narrow()});
    compare(text + " of more",
            [columns](const Ops& ops, const Tensors& in) {
              return Tensors{ops.gelu(in[0].narrow(-1, columns, columns))};
            },
            {drawn_normal({3, 5, 2 * columns}, 3) * 4}, {narrow()});
  }
}

TEST_P(GpuFusedOperations, Rope) {
  for (const std::int64_t d_head : {2, 6, 8, 64, 128}) {
    for (const std::int64_t seq : {1, 19}) {
      const auto angles = at::outer(at::arange(seq, at::kDouble), drawn_normal({d_head / 2}, 4));
      const auto cos = angles.cos().to(cuda, at::kFloat), sin = angles.sin().to(cuda, at::kFloat);
      compare("d_head " + std::to_string(d_head) + ", seq " + std::to_string(seq),
              [&](const Ops& ops, const Tensors& in) {
                const auto dtype = in[0].scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
                // Heads of the first two thirds of a projection.
                const auto q = in[0].narrow(-1, 0, 2 * d_head).unflatten(-1, {2, d_head});
                return Tensors{ops.rope(q, cos.to(dtype), sin.to(dtype)).transpose(1, 2)};
              },
              {drawn_normal({2, seq, 3 * d_head}, 5)}, {narrow()});
    }
  }
}

TEST_P(GpuFusedOperations, CrossEntropy) {
  for (const auto& [rows, classes] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {4, 2}, {3, 7}, {5, 1000}, {33, 10000}, {2, 50257}}) {
    auto logits = drawn_normal({rows, classes}, 6) * 3;
    logits[0] *= 30;  // beyond what exp() holds
    const auto targets = at::randint(classes, {rows}, reference::seeded_generator(at::kCPU, 7),
                                     at::TensorOptions(at::kLong));
    compare(std::to_string(rows) + " rows of " + std::to_string(classes),
            [](const Ops& ops, const Tensors& in) { return Tensors{ops.loss(in[0], in[1])}; },
            {logits, targets}, {narrow(), at::kLong});
  }
}

TEST_P(GpuFusedOperations, Embedding) {
  for (const std::int64_t columns : {1, 7, 64, 1000, 3000}) {
    for (const std::int64_t vocabulary : {1, 5, 3000}) {
      const auto tokens =
          at::randint(vocabulary, {3, 117}, reference::seeded_generator(at::kCPU, 8),
                      at::TensorOptions(at::kLong));
      compare(
          std::to_string(columns) + " columns, vocabulary " + std::to_string(vocabulary),
          [](const Ops& ops, const Tensors& in) { return Tensors{ops.embedding(in[0], in[1])}; },
          {tokens, drawn_normal({vocabulary, columns}, 9)});
    }
  }
}

TEST_P(GpuFusedOperations, NormAndResidual) {
  for (const std::int64_t columns : {3, 5, 8, 96, 768, 1000, 2047, 2560, 4608, 16384, 20000}) {
    for (const std::int64_t rows : {1, 3, 700}) {
      if (rows * columns > 4'000'000) continue;
      const auto text = std::to_string(rows) + " rows of " + std::to_string(columns);
      const auto weight = drawn_normal({columns}, 10);
      compare(text,
              [](const Ops& ops, const Tensors& in) {
                return Tensors{ops.norm({in[0], in[1], {}, 1e-5})};
              },
              {drawn_normal({rows, columns}, 11), weight});
      compare(text + ", added",
              [](const Ops& ops, const Tensors& in) {
                auto [sum, out] = ops.add_norm(in[0], {in[1], in[2], {}, 1e-5});
                return Tensors{sum, out};
              },
              {drawn_normal({1, rows, columns}, 12), drawn_normal({1, rows, columns}, 13), weight},
              {GetParam().dtype, narrow(), GetParam().dtype});
      compare(text + ", of a sum that nothing else uses",
              [](const Ops& ops, const Tensors& in) {
                return Tensors{ops.add_norm(in[0], {in[1], in[2], {}, 1e-5}).second};
              },
              {drawn_normal({rows, columns}, 14), drawn_normal({rows, columns}, 15), weight},
              {GetParam().dtype, narrow(), GetParam().dtype});
    }
  }
}

// Memory that begins between multiples of 16 bytes.
TEST_P(GpuFusedOperations, RowsAnywhereInMemory) {
  constexpr std::int64_t rows = 3;
  for (const std::int64_t columns : {8, 1000, 4608}) {
    const auto moved = [columns](const at::Tensor& leaf) {
      return leaf.narrow(0, 1, rows * columns).view({rows, columns});
    };
    const auto drawn = [&](std::uint64_t seed) { return drawn_normal({rows * columns + 1}, seed); };
    compare(std::to_string(columns) + " columns",
            [&](const Ops& ops, const Tensors& in) {
              const auto weight = in[2].narrow(0, 1, columns);
              auto [sum, out] = ops.add_norm(moved(in[0]), {moved(in[1]), weight, {}, 1e-5});
              return Tensors{sum, ops.swiglu(moved(in[3]), moved(in[1])), out};
            },
            {drawn(30), drawn(31), drawn_normal({columns + 1}, 32), drawn(33)},
            {GetParam().dtype, narrow(), GetParam().dtype, narrow()});
    compare(
        std::to_string(columns) + " classes",
        [&](const Ops& ops, const Tensors& in) { return Tensors{ops.loss(moved(in[0]), in[1])}; },
        {drawn(34), at::arange(rows, at::kLong)}, {narrow(), at::kLong});
  }
}

// Two heads of q for one of k and v; an x of another dtype than the products'.
TEST_P(GpuFusedOperations, Products) {
  for (const auto& [in_columns, width] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {24, 5}, {64, 32}, {768, 256}}) {
    const auto text = std::to_string(in_columns) + " to " + std::to_string(width);
    const auto x = drawn_normal({3, 17, in_columns}, 16);
    const auto weight = [&](std::int64_t rows, std::uint64_t seed) {
      return drawn_normal({rows, in_columns}, seed) * 0.2;
    };
    compare(text + ", one",
            [](const Ops& ops, const Tensors& in) { return Tensors{ops.linear(in[0], in[1])}; },
            {x, weight(width, 17)});
    compare(text + ", three",
            [](const Ops& ops, const Tensors& in) {
              const Qkv made = ops.qkv(in[0], {in[1], in[2], in[3]});
              return Tensors{made.q, made.k, made.v};
            },
            {x, weight(2 * width, 18), weight(width, 19), weight(width, 20)});
    compare(text + ", gate and up",
            [](const Ops& ops, const Tensors& in) {
              const GateUp made = ops.gate_up(in[0], {in[1], in[2]});
              return Tensors{ops.swiglu(made.gate, made.up)};
            },
            {x, weight(width, 21), weight(width, 22)});
  }
}

// RoPE's gradients go where the product of q, k and v gathers them, also where one of them has a
// second use and where nothing follows from another.
TEST_P(GpuFusedOperations, TurnedProjections) {
  constexpr std::int64_t d_head = 16, seq = 11;
  const auto angles = at::outer(at::arange(seq, at::kDouble), drawn_normal({d_head / 2}, 23));
  const auto cos = angles.cos().to(cuda, at::kFloat), sin = angles.sin().to(cuda, at::kFloat);
  for (const std::string uses : {"one each", "q twice", "q turned twice", "without v"}) {
    compare(uses,
            [&](const Ops& ops, const Tensors& in) {
              const auto dtype = in[0].scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
              const Qkv made = ops.qkv(in[0], {in[1], in[2], in[3]});
              const auto turned = [&](const at::Tensor& x) {
                return ops.rope(x.unflatten(-1, {-1, d_head}), cos.to(dtype), sin.to(dtype));
              };
              Tensors results = {turned(made.q), turned(made.k)};
              if (uses != "without v") results.push_back(made.v * 2);
              if (uses == "q twice") results.push_back(made.q * 3);
              if (uses == "q turned twice") results.push_back(turned(made.q) * 3);
              return results;
            },
            {drawn_normal({2, seq, 24}, 24), drawn_normal({4 * d_head, 24}, 25),
             drawn_normal({2 * d_head, 24}, 26), drawn_normal({2 * d_head, 24}, 27)});
  }
}

// Gradients of a weight that is used twice, or has a gradient already, are sums.
TEST_P(GpuFusedOperations, WeightsOfSeveralUses) {
  const auto x = drawn_normal({2, 300, 256}, 28), weight = drawn_normal({256, 256}, 29) * 0.1;
  compare("twice",
          [](const Ops& ops, const Tensors& in) {
            return Tensors{ops.linear(ops.linear(in[0], in[1]), in[1])};
          },
          {x, weight});
  compare("also a table",
          [](const Ops& ops, const Tensors& in) {
            return Tensors{ops.linear(ops.embedding(in[0], in[1]), in[1])};
          },
          {at::arange(256, at::kLong), weight});
  const auto dtype = GetParam().dtype;
  const auto leaf = [&](const at::Tensor& values) {
    return values.to(cuda, dtype).requires_grad_();
  };
  const at::Tensor in = leaf(x), w = leaf(weight);
  at::Tensor once;
  for (int i = 0; i < 3; ++i) {
    at::Tensor out;
    {
      const model::Autocast autocast(cuda, GetParam().autocast);
      out = ops_.linear(in, w);
    }
    torch::autograd::backward({out}, {at::ones_like(out)});
    if (i == 0) once = w.grad().to(at::kDouble).clone();
  }
  near("a sum of three", w.grad(), once * 3, tolerance());
}

// The first product of a backward takes the places, if they lie side by side.
TEST_P(GpuFusedOperations, GradientsWhereTheyAreWanted) {
  const auto dtype = GetParam().dtype;
  const at::Tensor one = (drawn_normal({112, 64}, 31) * 0.2).to(cuda, dtype);
  const auto leaf = [&](std::int64_t first, std::int64_t rows) {
    return one.narrow(0, first, rows).detach().requires_grad_();
  };
  const at::Tensor in = drawn_normal({3, 17, 64}, 30).to(cuda, dtype);
  const Tensors weights = {leaf(0, 48), leaf(48, 32), leaf(80, 32)};
  const auto gradients_of = [&](int uses) {
    at::Tensor sum;
    {
      const model::Autocast autocast(cuda, GetParam().autocast);
      for (int use = 0; use < uses; ++use) {
        const Qkv made = ops_.qkv(in, {weights[0], weights[1], weights[2]});
        const at::Tensor all = at::cat({made.q, made.k, made.v}, -1).to(at::kFloat).sum();
        sum = sum.defined() ? sum + all : all;
      }
    }
    sum.backward();
    Tensors gradients;
    for (const at::Tensor& weight : weights) {
      gradients.push_back(std::exchange(weight.mutable_grad(), at::Tensor()));
    }
    return gradients;
  };
  const at::Tensor memory = at::zeros({2 * 112 * 64}, in.options());
  const auto offer = [&](const std::vector<std::int64_t>& rows) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      offer_gradient_place(weights[i],
                           memory.narrow(0, rows[i] * 64, weights[i].numel()).view_as(weights[i]));
    }
  };
  const Tensors right = gradients_of(1);
  const at::Tensor wide = at::zeros({112 * 64}, in.options().dtype(at::kFloat));
  std::int64_t first = 0;
  for (const at::Tensor& weight : weights) {
    offer_gradient_place(weight, wide.narrow(0, first, weight.numel()).view_as(weight));
    first += weight.numel();
  }
  EXPECT_EQ(gradients_of(1)[0].const_data_ptr(), wide.const_data_ptr());
  first = 0;
  for (const at::Tensor& each : right) {
    near("in fp32", wide.narrow(0, first, each.numel()).view_as(each), each.to(at::kDouble),
         tolerance());
    first += each.numel();
  }
  offer({10, 58, 90});
  const Tensors placed = gradients_of(1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_TRUE(placed[i].is_alias_of(memory));
    EXPECT_TRUE(placed[i].equal(right[i]));
  }
  EXPECT_EQ(placed[1].storage_offset(), 58 * 64);
  EXPECT_FALSE(gradients_of(1)[0].is_alias_of(memory)) << "an offer is taken once";
  offer({90, 58, 10});
  EXPECT_FALSE(gradients_of(1)[0].is_alias_of(memory)) << "in another order";
  offer({10, 58, 90});
  const Tensors twice = gradients_of(2);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    near("two uses", twice[i], right[i].to(at::kDouble) * 2, tolerance());
  }
}

INSTANTIATE_TEST_SUITE_P(, GpuFusedOperations,
                         testing::Values(Numbers{"fp32"}, Numbers{"bf16", at::kBFloat16},
                                         Numbers{"fp16", at::kHalf},
                                         Numbers{"autocast_bf16", at::kFloat, at::kBFloat16},
                                         Numbers{"autocast_fp16", at::kFloat, at::kHalf}),
                         [](const testing::TestParamInfo<Numbers>& tested) {
                           return tested.param.name;
                         });

}  // namespace
}  // namespace assay
