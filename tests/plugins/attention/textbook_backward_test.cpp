// The SDK's textbook backwards against the float64 reference and against autograd.

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rms_norm.h>
#include <assay/reference.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "model/random.h"

namespace assay {
namespace {

at::Tensor random(at::IntArrayRef sizes, std::uint64_t seed) {
  return at::randn(sizes, model::seeded_generator(at::kCPU, seed),
                   at::TensorOptions().dtype(at::kDouble))
      .requires_grad_();
}

TEST(TextbookBackward, OfAttentionIsTheReferencesAlsoWhereQueriesSeeNothing) {
  for (const bool causal : {false, true}) {
    for (const std::int64_t seq_q : {3, 7}) {
      const at::NoGradGuard no_grad;
      const AttentionInputs in = {random({2, 2, seq_q, 8}, 1), random({2, 2, 5, 8}, 2),
                                  random({2, 2, 5, 8}, 3), causal, 0.3};
      const auto dout = random({2, 2, seq_q, 8}, 4);
      const auto reference = reference::attention(in, dout);
      const auto made = textbook_backward(in, reference.out, reference.lse, dout);
      EXPECT_TRUE(made.dq.allclose(reference.dq)) << causal << seq_q;
      EXPECT_TRUE(made.dk.allclose(reference.dk)) << causal << seq_q;
      EXPECT_TRUE(made.dv.allclose(reference.dv)) << causal << seq_q;
    }
  }
}

TEST(TextbookBackward, OfAttentionMindsGroupsAndWindow) {
  const at::NoGradGuard no_grad;
  const AttentionInputs in = {
      random({2, 4, 9, 8}, 1), random({2, 2, 9, 8}, 2), random({2, 2, 9, 8}, 3), false, 0.3, 3};
  const auto dout = random({2, 4, 9, 8}, 4);
  const auto right = reference::attention(in, dout);
  const auto made = textbook_backward(in, right.out, right.lse, dout);
  EXPECT_TRUE(made.dq.allclose(right.dq));
  EXPECT_TRUE(made.dk.allclose(right.dk));
  EXPECT_TRUE(made.dv.allclose(right.dv));
}

TEST(TextbookBackward, OfBothNormsIsAutograds) {
  for (const bool centred : {false, true}) {
    const auto gradients = [&](bool lent) {
      NormInputs in = {random({4, 3, 6}, 1), random({6}, 2), {}, 1e-3};
      if (centred) in.bias = random({6}, 3);
      const auto norm = [&](const NormInputs& of) {
        return centred ? at::layer_norm(of.x, {6}, of.weight, of.bias, of.eps)
                       : at::rms_norm(of.x, {6}, of.weight, of.eps);
      };
      const auto out = lent ? with_textbook_backward(in, centred, norm) : norm(in);
      torch::autograd::backward({out}, {random({4, 3, 6}, 4).detach()});
      std::vector<at::Tensor> made = {out.detach(), in.x.grad(), in.weight.grad()};
      if (centred) made.push_back(in.bias.grad());
      return made;
    };
    const auto made = gradients(true), expected = gradients(false);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(made[i].allclose(expected[i])) << centred << " " << i;
    }
  }
}

}  // namespace
}  // namespace assay
