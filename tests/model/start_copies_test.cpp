#include "training/start_copies.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

namespace assay::training {
namespace {

at::Tensor numbers(at::ScalarType dtype) {
  return at::arange(35, at::TensorOptions(dtype)).view({5, 7});
}

TEST(StartCopies, StayWhatTheyWereWhenTheParametersChange) {
  const std::vector<NamedTensor> parameters = {{"a", numbers(at::kFloat)},
                                               {"b", numbers(at::kBFloat16)}};
  StartCopies copies;
  const auto kept = copies.of(parameters, at::kCPU);
  for (const NamedTensor& parameter : parameters) at::Tensor(parameter.tensor).zero_();
  ASSERT_EQ(kept.size(), 2);
  EXPECT_EQ(kept[1].name, "b");
  EXPECT_TRUE(kept[0].tensor.equal(numbers(at::kFloat)));
  EXPECT_TRUE(kept[1].tensor.equal(numbers(at::kBFloat16)));
}

TEST(MovedToHost, KeepsNamesTypesAndValuesOfAnyLayout) {
  const auto moved = moved_to_host({{"odd", numbers(at::kBFloat16).narrow(0, 0, 3)},
                                    {"turned", numbers(at::kFloat).t()},
                                    {"one", numbers(at::kDouble).sum()},
                                    {"none", at::Tensor(numbers(at::kFloat).narrow(0, 0, 0))}});
  ASSERT_EQ(moved.size(), 4);
  EXPECT_EQ(moved[0].name, "odd");
  EXPECT_TRUE(moved[0].tensor.equal(numbers(at::kBFloat16).narrow(0, 0, 3)));
  EXPECT_TRUE(moved[1].tensor.equal(numbers(at::kFloat).t()));
  EXPECT_EQ(moved[2].tensor.item<double>(), 34 * 35 / 2);
  EXPECT_EQ(moved[3].tensor.numel(), 0);
}

TEST(MovedToHost, OfNothingIsNothing) { EXPECT_TRUE(moved_to_host({}).empty()); }

}  // namespace
}  // namespace assay::training
