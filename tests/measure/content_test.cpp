#include "measure/content.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

namespace assay::measure {
namespace {

constexpr Contents built{};

std::vector<at::Tensor> tensors() {
  std::vector<at::Tensor> all;
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    all.push_back(at::randn({70, 333}).to(dtype));
  }
  all.push_back(at::randint(0, 256, {12345}, at::TensorOptions(at::kByte)));
  return all;
}

TEST(Content, ARenewalChangesOneElementOfEachBlockAndIsUndone) {
  for (const at::Tensor& tensor : tensors()) {
    const at::Tensor original = tensor.clone();
    const Contents first{11, false}, second{12, false};
    const auto blocks = (tensor.nbytes() + block_bytes - 1) / block_bytes;
    renew(tensor, 0, built, first);
    EXPECT_EQ(at::ne(tensor, original).sum().item<std::int64_t>(), blocks);
    EXPECT_TRUE(tensor.to(at::kDouble).isfinite().all().item<bool>());
    const at::Tensor once = tensor.clone();
    renew(tensor, 0, first, second);
    EXPECT_FALSE(tensor.equal(once));
    EXPECT_LE(at::ne(tensor, original).sum().item<std::int64_t>(), blocks);
    renew(tensor, 0, second, built);
    EXPECT_TRUE(tensor.equal(original));
  }
}

TEST(Content, AWholeRenewalChangesMostElements) {
  for (const at::Tensor& tensor : tensors()) {
    const at::Tensor original = tensor.clone();
    renew(tensor, 0, built, {7, true});
    const double changed =
        at::ne(tensor, original).sum().item<double>() / static_cast<double>(tensor.numel());
    EXPECT_GT(changed, 0.7);
    renew(tensor, 0, {7, true}, {8, true});
    renew(tensor, 0, {8, true}, built);
    EXPECT_TRUE(tensor.equal(original));
  }
}

TEST(Content, NumbersStayInTheirRange) {
  const at::Tensor tokens = at::randint(0, 50, {9, 77}, at::TensorOptions(at::kLong));
  const at::Tensor original = tokens.clone();
  renew(tokens, 50, built, {3, true});
  EXPECT_TRUE(at::ne(tokens, original).all().item<bool>());
  EXPECT_GE(tokens.min().item<std::int64_t>(), 0);
  EXPECT_LT(tokens.max().item<std::int64_t>(), 50);
  renew(tokens, 50, {3, true}, built);
  EXPECT_TRUE(tokens.equal(original));
}

TEST(Content, TheFingerprintIsThatOfTheContentsAsBuilt) {
  for (const at::Tensor& tensor : tensors()) {
    for (const bool whole : {false, true}) {
      const auto taken = fingerprint(tensor, 0, built, 99);
      const Contents now{5, whole};
      renew(tensor, 0, built, now);
      EXPECT_EQ(fingerprint(tensor, 0, now, 99), taken);
      EXPECT_NE(fingerprint(tensor, 0, built, 99), taken);
      EXPECT_NE(fingerprint(tensor, 0, now, 98), taken);
      // The last element of all, which lies in a block that is not full.
      at::Tensor last = tensor.view({-1}).narrow(0, tensor.numel() - 1, 1);
      const at::Tensor right = last.clone();
      last.add_(1);
      EXPECT_NE(fingerprint(tensor, 0, now, 99), taken);
      last.copy_(right);
      EXPECT_EQ(fingerprint(tensor, 0, now, 99), taken);
      renew(tensor, 0, now, built);
    }
  }
}

TEST(Content, TheFingerprintSeesElementsThatChangedPlaces) {
  const at::Tensor tensor = at::arange(5000, at::TensorOptions(at::kFloat));
  const auto taken = fingerprint(tensor, 0, built, 1);
  EXPECT_NE(fingerprint(tensor.flip({0}), 0, built, 1), taken);
}

TEST(Content, SpoilingWritesNanIntoEachBlock) {
  const at::Tensor tensor = at::randn({4096});
  spoil(tensor, 1);
  EXPECT_EQ(tensor.isnan().sum().item<std::int64_t>(), 4);
  for (std::int64_t block = 0; block < 4; ++block) {
    EXPECT_TRUE(tensor.narrow(0, block * 1024, 1024).isnan().any().item<bool>());
  }
}

TEST(Content, WhatHasGapsIsNotRenewable) {
  EXPECT_TRUE(is_renewable(at::randn({4, 4})));
  EXPECT_TRUE(is_renewable(at::randn({4, 6}).t()));
  EXPECT_FALSE(is_renewable(at::randn({4, 6}).narrow(1, 0, 3)));
  EXPECT_FALSE(is_renewable(at::Tensor()));
}

}  // namespace
}  // namespace assay::measure
