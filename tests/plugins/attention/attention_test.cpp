#include <ATen/ops/randn.h>
#include <assay/reference.h>
#include <torch/csrc/autograd/autograd.h>

#include "attention_inputs.h"
#include "model/differentiable.h"
#include "model/random.h"
#include "plugins/support.h"

namespace assay {
namespace {

// Length 1, primes, more and fewer keys than queries, head sizes off the powers of two.
const test::AttentionShape shapes[] = {{1, 1, 1, 1, 8},   {2, 3, 17, 17, 16}, {1, 2, 31, 31, 80},
                                       {2, 1, 64, 64, 5}, {1, 2, 13, 29, 24}, {2, 2, 127, 127, 64}};

struct Conformance {
  std::string variant;
  at::ScalarType dtype;
  bool causal;
  test::Layout layout;
};

class AttentionConformance : public testing::TestWithParam<Conformance> {};

TEST_P(AttentionConformance, ForwardAndGradientsAgreeWithFloat64) {
  const auto& tested = GetParam();
  const auto plugin = test::attention(tested.variant);
  PrecisionPolicy policy;
  policy.parameters = tested.dtype;
  const double tolerance = reference::tolerance(policy);
  for (const auto& shape : shapes) {
    SCOPED_TRACE(testing::Message() << shape.batch << "x" << shape.heads << "x" << shape.seq_q
                                    << "x" << shape.seq_k << "x" << shape.d_head);
    const auto in = test::attention_inputs(shape, tested.dtype, tested.causal, tested.layout);
    std::optional<std::string> reason;
    throw_unless_ok(plugin->unsupported(in, reason));
    ASSERT_FALSE(reason) << *reason;

    at::Tensor out;
    throw_unless_ok(plugin->forward(in, out));
    ASSERT_EQ(out.sizes(), in.q.sizes());
    EXPECT_EQ(out.scalar_type(), tested.dtype);
    const auto dout =
        at::randn(out.sizes(), model::seeded_generator(at::kCPU, 18), at::kFloat).to(tested.dtype);
    torch::autograd::backward({out}, {dout});

    const auto reference = reference::attention(in, dout);
    EXPECT_LT(reference::relative_error(out, reference.out), tolerance);
    // With one key the softmax is constant, and the true 0 is only rounding.
    if (shape.seq_k > 1) {
      EXPECT_LT(reference::relative_error(in.q.grad(), reference.dq), 2 * tolerance);
      EXPECT_LT(reference::relative_error(in.k.grad(), reference.dk), 2 * tolerance);
    }
    EXPECT_LT(reference::relative_error(in.v.grad(), reference.dv), 2 * tolerance);
  }
}

std::vector<Conformance> all_on_cpu() {
  std::vector<Conformance> all;
  for (const char* variant : {"naive", "math_libtorch", "flash_libtorch"}) {
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
      for (const bool causal : {true, false}) {
        for (const auto layout : {test::Layout::contiguous, test::Layout::heads_last}) {
          all.push_back({variant, dtype, causal, layout});
        }
      }
    }
  }
  return all;
}

std::string conformance_name(const testing::TestParamInfo<Conformance>& tested) {
  const auto& [variant, dtype, causal, layout] = tested.param;
  return variant + (dtype == at::kFloat ? "_fp32" : "_bf16") + (causal ? "_causal" : "_full") +
         (layout == test::Layout::contiguous ? "" : "_strided");
}

INSTANTIATE_TEST_SUITE_P(Cpu, AttentionConformance, testing::ValuesIn(all_on_cpu()),
                         conformance_name);

// Of each variant that a CPU has: fewer heads of k and v, a window, and both.
TEST(AttentionOnACpu, GroupsAndWindowsAgreeWithFloat64) {
  for (const char* variant : {"naive", "math_libtorch", "flash_libtorch"}) {
    const auto plugin = test::attention(variant);
    for (const bool causal : {true, false}) {
      for (const std::int64_t kv_heads : {6, 2, 1}) {
        for (const std::int64_t window : {0, 1, 5}) {
          SCOPED_TRACE(testing::Message() << variant << causal << kv_heads << window);
          auto in = test::attention_inputs({2, 6, 17, 19, 8}, at::kFloat, causal,
                                           test::Layout::heads_last);
          in.k = in.k.detach().narrow(1, 0, kv_heads).requires_grad_();
          in.v = in.v.detach().narrow(1, 0, kv_heads).requires_grad_();
          in.window = window;
          at::Tensor out;
          throw_unless_ok(plugin->forward(in, out));
          const auto dout = at::randn(out.sizes(), model::seeded_generator(at::kCPU, 18));
          torch::autograd::backward({out}, {dout});
          const auto right = reference::attention(in, dout);
          EXPECT_LT(reference::relative_error(out, right.out), 1e-5);
          EXPECT_LT(reference::relative_error(in.v.grad(), right.dv), 1e-5);
          if (window == 1) continue;  // one key: the gradients of q and k are 0
          EXPECT_LT(reference::relative_error(in.q.grad(), right.dq), 1e-4);
          EXPECT_LT(reference::relative_error(in.k.grad(), right.dk), 1e-4);
        }
      }
    }
  }
}

struct Plain final : Attention {
  at::Tensor forward(const AttentionInputs& in) override {
    ++calls;
    return in.q * 1;
  }
  int calls = 0;
};

TEST(AttentionThatDeclaresNothing, IsNotCalledWithGroupsOrAWindow) {
  auto plain = std::make_shared<Plain>();
  detail::AttentionGuard guard(plain);
  auto in = test::attention_inputs(shapes[1], at::kFloat, true, test::Layout::contiguous);
  at::Tensor out;
  EXPECT_TRUE(guard.forward(in, out).ok());
  auto grouped = in, windowed = in;
  grouped.k = in.k.narrow(1, 0, 1);
  grouped.v = in.v.narrow(1, 0, 1);
  windowed.window = 4;
  const auto call = model::differentiable(guard);
  EXPECT_EQ(guard.forward(grouped, out).reason, "it takes as many heads of k and v as of q");
  EXPECT_EQ(guard.forward(windowed, out).outcome, Outcome::unsupported);
  EXPECT_THROW(call(grouped), Unsupported);
  EXPECT_THROW(call(windowed), Unsupported);
  std::optional<std::string> reason;
  throw_unless_ok(guard.unsupported(windowed, reason));
  EXPECT_EQ(reason, "it has no window");
  EXPECT_EQ(plain->calls, 1);
}

TEST(NaiveAttention, AQueryThatSeesNoKeyGivesZero) {
  const auto in =
      test::attention_inputs({1, 2, 5, 3, 8}, at::kFloat, true, test::Layout::contiguous);
  at::Tensor out;
  throw_unless_ok(test::attention("naive")->forward(in, out));
  const auto reference = reference::attention(in);
  EXPECT_LT(reference::relative_error(out, reference.out), 1e-6);
  EXPECT_EQ(out.narrow(2, 0, 2).abs().max().item<double>(), 0);
}

// The mask is kept between calls and must change with the length.
TEST(NaiveAttention, ChangingLengthsChangeTheMask) {
  const auto plugin = test::attention("naive");
  for (const std::int64_t seq : {4, 9, 4, 2}) {
    const auto in =
        test::attention_inputs({1, 1, seq, seq, 8}, at::kFloat, true, test::Layout::contiguous);
    at::Tensor out;
    throw_unless_ok(plugin->forward(in, out));
    const auto reference = reference::attention(in);
    EXPECT_LT(reference::relative_error(out, reference.out), 1e-6);
  }
}

TEST(GpuOnlyAttention, SaysSoOnACpu) {
  const auto in = test::attention_inputs(shapes[1], at::kBFloat16, true, test::Layout::contiguous);
  for (const char* variant : {"efficient_libtorch", "cudnn_libtorch"}) {
    const auto plugin = test::attention(variant);
    std::optional<std::string> reason;
    throw_unless_ok(plugin->unsupported(in, reason));
    ASSERT_TRUE(reason);
    EXPECT_NE(reason->find("CUDA device"), std::string::npos) << *reason;
    at::Tensor out;
    const Status status = plugin->forward(in, out);
    EXPECT_EQ(status.outcome, Outcome::unsupported);
    EXPECT_EQ(status.reason, *reason);
  }
}

}  // namespace
}  // namespace assay
