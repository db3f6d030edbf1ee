#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace assay::collective {

// What each rank sends, which all ranks can work out. As built element i of rank r is
// ((i + i / c + 5 r) mod c) mod v. c is a prime of at least 97 and as many as there are ranks (up
// to 2039), so that each has its own pattern; v, 97 at most, is so small that sums over the ranks
// are exact in the dtype. Under another number than 0 each rank's first 97 * 97 elements are drawn
// from it, below v, and repeat. Either begins again after c * c elements.
class Pattern {
 public:
  // Throws Unsupported where the dtype cannot hold the sums of so many ranks.
  Pattern(at::ScalarType dtype, int ranks);

  // The pattern's first elements, as many as for_each_part() needs for so many values: of one rank,
  // or its sum over all of them. On the device, some MB.
  at::Tensor of_rank(at::Device device, std::uint64_t number, int rank, std::int64_t count) const;
  at::Tensor sum(at::Device device, std::uint64_t number, std::int64_t count) const;

  // Calls visit(part, expected) for each part of `values`, whose element 0 is element `first` of
  // the pattern that `tile` begins.
  template <class Visit>
  void for_each_part(const at::Tensor& values, std::int64_t first, const at::Tensor& tile,
                     const Visit& visit) const {
    const std::int64_t count = values.numel();
    for (std::int64_t begin = 0; begin < count; begin += at_once) {
      const std::int64_t part = std::min(at_once, count - begin);
      visit(values.narrow(0, begin, part), tile.narrow(0, (first + begin) % period(), part));
    }
  }

 private:
  static constexpr std::int64_t at_once = std::int64_t{1} << 20;

  std::int64_t period() const { return cycle_ * cycle_; }
  // The elements of a period, whole numbers on the CPU.
  at::Tensor values(std::uint64_t number, int rank) const;
  // So many elements of the period's repetition, in the dtype and on the device.
  at::Tensor repeated(const at::Tensor& values, at::Device device, std::int64_t count) const;

  at::ScalarType dtype_;
  int ranks_;
  std::int64_t cycle_;
  std::int64_t values_;
};

}  // namespace assay::collective
