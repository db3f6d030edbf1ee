#include "workload/collective/pattern.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>
#include <assay/plugin.h>
#include <fmt/format.h>

namespace assay::collective {

namespace {

constexpr std::int64_t primes[] = {97, 89, 61, 31, 17, 11, 7, 5, 3, 2};
constexpr std::int64_t step_of_rank = 5;

// Whole numbers up to this are exact.
std::int64_t exact_up_to(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return std::int64_t{1} << 24;
    case at::kHalf:
      return std::int64_t{1} << 11;
    case at::kBFloat16:
      return std::int64_t{1} << 8;
    default:
      throw Unsupported("collectives are measured in fp32, fp16 and bf16");
  }
}

// i + i / m: the same only after m * m elements, so that shares of equal length differ.
at::Tensor base(at::Device device, std::int64_t first, std::int64_t count, std::int64_t modulus) {
  const auto i =
      at::arange(first, first + count, at::TensorOptions().dtype(at::kLong).device(device));
  return i + i.div(modulus, "floor");
}

}  // namespace

Pattern::Pattern(at::ScalarType dtype, int ranks) : dtype_(dtype), ranks_(ranks) {
  for (const std::int64_t prime : primes) {
    if (ranks * (prime - 1) > exact_up_to(dtype)) continue;
    modulus_ = prime;
    return;
  }
  throw Unsupported(fmt::format("sums over {} ranks are not exact in this dtype", ranks));
}

at::Tensor Pattern::of_rank(at::Device device, int rank, std::int64_t first,
                            std::int64_t count) const {
  return (base(device, first, count, modulus_) + step_of_rank * rank)
      .remainder(modulus_)
      .to(dtype_);
}

at::Tensor Pattern::sum(at::Device device, std::int64_t first, std::int64_t count) const {
  const at::Tensor of_all = base(device, first, count, modulus_);
  at::Tensor sum = at::zeros_like(of_all);
  for (int rank = 0; rank < ranks_; ++rank) {
    sum += (of_all + step_of_rank * rank).remainder(modulus_);
  }
  return sum.to(dtype_);
}

}  // namespace assay::collective
