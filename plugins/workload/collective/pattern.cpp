#include "workload/collective/pattern.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>
#include <assay/plugin.h>
#include <fmt/format.h>

#include <algorithm>

namespace assay::collective {

namespace {

constexpr std::int64_t least_cycle = 97;
constexpr std::int64_t longest_cycle = 2039;  // prime; a pattern's period is its square
constexpr std::int64_t step_of_rank = 5;

bool is_prime(std::int64_t number) {
  for (std::int64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return true;
}

// So long that no two ranks have the same pattern, as far as the limit goes.
std::int64_t cycle_for(std::int64_t ranks) {
  std::int64_t cycle = std::clamp(ranks, least_cycle, longest_cycle);
  while (!is_prime(cycle)) ++cycle;
  return cycle;
}

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

// i + i / c: the same only after c * c elements, so that shares of equal length differ.
at::Tensor base(at::Device device, std::int64_t first, std::int64_t count, std::int64_t cycle) {
  const auto i =
      at::arange(first, first + count, at::TensorOptions().dtype(at::kLong).device(device));
  return i + i.div(cycle, "floor");
}

}  // namespace

Pattern::Pattern(at::ScalarType dtype, int ranks)
    : dtype_(dtype),
      ranks_(ranks),
      cycle_(cycle_for(ranks)),
      values_(std::min(least_cycle, exact_up_to(dtype) / ranks + 1)) {
  if (values_ < 2) {
    throw Unsupported(fmt::format("sums over {} ranks are not exact in this dtype", ranks));
  }
}

at::Tensor Pattern::values(const at::Tensor& base, int rank) const {
  return (base + step_of_rank * rank).remainder(cycle_).remainder(values_);
}

at::Tensor Pattern::of_rank(at::Device device, int rank, std::int64_t first,
                            std::int64_t count) const {
  return values(base(device, first, count, cycle_), rank).to(dtype_);
}

at::Tensor Pattern::sum(at::Device device, std::int64_t first, std::int64_t count) const {
  const at::Tensor of_all = base(device, first, count, cycle_);
  at::Tensor sum = at::zeros_like(of_all);
  for (int rank = 0; rank < ranks_; ++rank) sum += values(of_all, rank);
  return sum.to(dtype_);
}

}  // namespace assay::collective
