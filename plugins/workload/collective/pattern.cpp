#include "workload/collective/pattern.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <assay/plugin.h>
#include <fmt/format.h>

#include <algorithm>

#include "measure/content_pattern.h"

namespace assay::collective {

namespace {

constexpr std::int64_t least_cycle = 97;
constexpr std::int64_t longest_cycle = 2039;  // prime; a pattern's period is its square
constexpr std::int64_t step_of_rank = 5;
constexpr std::int64_t drawn_elements = least_cycle * least_cycle;

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
at::Tensor built(int rank, std::int64_t cycle) {
  const auto i = at::arange(cycle * cycle, at::TensorOptions().dtype(at::kLong));
  return (i + i.div(cycle, "floor") + step_of_rank * rank).remainder(cycle);
}

at::Tensor drawn(std::uint64_t number, int rank, std::int64_t values) {
  at::Tensor drawn = at::empty({drawn_elements}, at::TensorOptions().dtype(at::kLong));
  auto* element = drawn.mutable_data_ptr<std::int64_t>();
  const std::uint64_t key =
      measure::mixed(measure::mixed(number) + static_cast<std::uint64_t>(rank));
  for (std::int64_t i = 0; i < drawn_elements; ++i) {
    element[i] = static_cast<std::int64_t>(measure::mixed(key ^ static_cast<std::uint64_t>(i)) %
                                           static_cast<std::uint64_t>(values));
  }
  return drawn;
}

at::Tensor repeated_to(std::int64_t count, const at::Tensor& values) {
  return values.repeat({(count + values.numel() - 1) / values.numel()}).narrow(0, 0, count);
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

at::Tensor Pattern::values(std::uint64_t number, int rank) const {
  if (number == 0) return built(rank, cycle_).remainder(values_);
  return repeated_to(period(), drawn(number, rank, values_));
}

at::Tensor Pattern::repeated(const at::Tensor& values, at::Device device,
                             std::int64_t count) const {
  return repeated_to(std::min(count, at_once) + period(), values.to(dtype_).to(device));
}

at::Tensor Pattern::of_rank(at::Device device, std::uint64_t number, int rank,
                            std::int64_t count) const {
  return repeated(values(number, rank), device, count);
}

at::Tensor Pattern::sum(at::Device device, std::uint64_t number, std::int64_t count) const {
  at::Tensor sum = values(number, 0);
  for (int rank = 1; rank < ranks_; ++rank) sum = sum + values(number, rank);
  return repeated(sum, device, count);
}

}  // namespace assay::collective
