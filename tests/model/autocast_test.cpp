#include "model/autocast.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace assay::model {
namespace {

TEST(Autocast, HoldsOnlyWhileItLives) {
  const auto x = at::ones({2, 2});
  {
    const Autocast autocast(at::kCPU, at::kBFloat16);
    EXPECT_EQ(at::matmul(x, x).scalar_type(), at::kBFloat16);
    {
      const Autocast inner(at::kCPU, at::kHalf);
      EXPECT_EQ(at::matmul(x, x).scalar_type(), at::kHalf);
    }
    EXPECT_EQ(at::matmul(x, x).scalar_type(), at::kBFloat16);
  }
  EXPECT_EQ(at::matmul(x, x).scalar_type(), at::kFloat);
}

TEST(Autocast, WithoutADtypeChangesNothing) {
  const auto x = at::ones({2, 2});
  const Autocast autocast(at::kCPU, std::nullopt);
  EXPECT_EQ(at::matmul(x, x).scalar_type(), at::kFloat);
}

// An optimizer changes parameters in place, which makes old conversions stale.
TEST(Autocast, ForgetsItsConversionsOnLeaving) {
  const auto x = at::ones({2, 2});
  auto weight = at::ones({2, 2}).requires_grad_();
  for (const float expected : {2.0F, 6.0F}) {
    {
      const Autocast autocast(at::kCPU, at::kBFloat16);
      EXPECT_EQ(at::matmul(x, weight)[0][0].item<float>(), expected);
    }
    const at::NoGradGuard no_grad;
    weight.fill_(3);
  }
}

}  // namespace
}  // namespace assay::model
