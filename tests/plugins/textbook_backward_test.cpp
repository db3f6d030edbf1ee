// The backwards that the SDK lends, against what autograd makes of the same mathematics in float64.

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rms_norm.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "model/random.h"
#include "model/reference.h"

namespace assay {
namespace {

at::Tensor random(at::IntArrayRef sizes, std::uint64_t seed) {
  return at::randn(sizes, model::seeded_generator(at::kCPU, seed),
                   at::TensorOptions().dtype(at::kDouble))
      .requires_grad_();
}

TEST(TextbookBackward, OfAttentionIsAutogradsAlsoWhereQueriesSeeNothing) {
  for (const bool causal : {false, true}) {
    for (const std::int64_t seq_q : {3, 7}) {
      const AttentionInputs in = {random({2, 2, seq_q, 8}, 1), random({2, 2, 5, 8}, 2),
                                  random({2, 2, 5, 8}, 3), causal, 0.3};
      const auto dout = random({2, 2, seq_q, 8}, 4).detach();
      const auto out = model::reference_attention(in);
      torch::autograd::backward({out}, {dout});

      at::Tensor scores = at::matmul(in.q, in.k.transpose(-2, -1)) * in.scale;
      if (causal) {
        const auto hidden = at::ones({seq_q, 5}, at::kBool).triu(1 + 5 - seq_q);
        scores = scores.masked_fill(hidden, -INFINITY);
      }
      const auto made =
          textbook_backward({in.q.detach(), in.k.detach(), in.v.detach(), causal, 0.3},
                            out.detach(), scores.detach().logsumexp(-1), dout);
      EXPECT_TRUE(made.dq.allclose(in.q.grad())) << causal << seq_q;
      EXPECT_TRUE(made.dk.allclose(in.k.grad())) << causal << seq_q;
      EXPECT_TRUE(made.dv.allclose(in.v.grad())) << causal << seq_q;
    }
  }
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
