#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <assay/flat_buffer.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "measure/memory.h"

namespace assay {
namespace {

TEST(FlatBuffer, SlicesHoldEveryElementOfEveryPartOnce) {
  const std::vector<std::vector<std::int64_t>> sizes = {{70}, {2, 3}, {130}};
  for (const int ranks : {1, 2, 3, 7}) {
    const FlatBuffer buffer(sizes, ranks, at::kFloat);
    ASSERT_EQ(buffer.elements() % ranks, 0);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      at::Tensor part = buffer.part(i);
      part.copy_(at::arange(part.numel(), at::kFloat).view(part.sizes()) + 1000.0 * (i + 1));
    }
    std::vector<std::vector<int>> seen = {std::vector<int>(70), std::vector<int>(6),
                                          std::vector<int>(130)};
    for (int rank = 0; rank < ranks; ++rank) {
      // Parts go by other numbers in the model.
      for (const Piece& piece : buffer.pieces(rank, {4, 2, 9})) {
        const std::size_t part = piece.parameter == 4 ? 0 : piece.parameter == 2 ? 1 : 2;
        const at::Tensor slice = buffer.slice(rank);
        for (std::int64_t k = 0; k < piece.count; ++k) {
          EXPECT_EQ(slice[piece.at + k].item<double>(),
                    1000.0 * (part + 1) + static_cast<double>(piece.first + k));
          ++seen[part][static_cast<std::size_t>(piece.first + k)];
        }
      }
    }
    for (const auto& counts : seen) {
      EXPECT_EQ(counts, std::vector<int>(counts.size(), 1)) << ranks << " ranks";
    }
  }
}

TEST(FlatBuffer, ReleasedMemoryIsGivenBackAndViewsReadWhatIsWrittenLater) {
  const measure::CpuMemoryScope memory;
  const std::int64_t before = measure::allocated_bytes(at::kCPU);
  FlatBuffer buffer({{1 << 16}}, 1, at::kFloat);
  EXPECT_GE(measure::allocated_bytes(at::kCPU) - before, 4 << 16);
  const at::Tensor view = buffer.part(0);
  buffer.release();
  EXPECT_FALSE(buffer.is_restored());
  EXPECT_LT(measure::allocated_bytes(at::kCPU) - before, 4096);
  buffer.restore();
  EXPECT_TRUE(buffer.is_restored());
  at::Tensor(buffer.values()).fill_(3);
  EXPECT_EQ(view.sum().item<double>(), 3.0 * (1 << 16));
}

// What autograd saved is read again after the memory has gone and come back.
TEST(FlatBuffer, BackwardReadsRestoredParameters) {
  FlatBuffer buffer({{4}}, 1, at::kFloat);
  at::Tensor parameter = at::zeros({4}, at::kFloat).requires_grad_();
  {
    const at::NoGradGuard no_grad;
    parameter.set_data(buffer.part(0));
    at::Tensor(buffer.values()).fill_(2);
  }
  const at::Tensor loss = (parameter.view({2, 2}) * parameter.view({2, 2})).sum();
  buffer.release();
  buffer.restore();
  at::Tensor(buffer.values()).fill_(2);
  torch::autograd::backward({loss});
  EXPECT_TRUE(parameter.grad().equal(at::ones({4}, at::kFloat) * 4));
}

}  // namespace
}  // namespace assay
