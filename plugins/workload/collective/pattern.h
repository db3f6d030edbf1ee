#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace assay::collective {

// What each rank sends in a verified call: element i of rank r is ((i + i / c + 5 r) mod c) mod v.
// c is a prime of at least 97 and as many as there are ranks (up to 2039), so that each has its own
// pattern; v, 97 at most, is so small that sums over the ranks are exact in the dtype.
class Pattern {
 public:
  // Throws Unsupported where the dtype cannot hold the sums of so many ranks.
  Pattern(at::ScalarType dtype, int ranks);

  // A run of the pattern: of one rank, or its sum over all of them. On the device.
  at::Tensor of_rank(at::Device device, int rank, std::int64_t first, std::int64_t count) const;
  at::Tensor sum(at::Device device, std::int64_t first, std::int64_t count) const;

  // Calls visit(part, expected) for each part of `values`, whose element 0 is element `first` of a
  // pattern. make(0, count): that pattern's first elements. Takes some 100 MB beside `values`,
  // three times as much with thousands of ranks.
  template <class Make, class Visit>
  void for_each_part(const at::Tensor& values, std::int64_t first, const Make& make,
                     const Visit& visit) const {
    constexpr std::int64_t most = std::int64_t{1} << 22;
    const std::int64_t period = cycle_ * cycle_;
    const std::int64_t count = values.numel();
    const at::Tensor tile = make(0, std::min(count, most) + period);
    for (std::int64_t begin = 0; begin < count; begin += most) {
      const std::int64_t part = std::min(most, count - begin);
      visit(values.narrow(0, begin, part), tile.narrow(0, (first + begin) % period, part));
    }
  }

 private:
  // base: i + i / c.
  at::Tensor values(const at::Tensor& base, int rank) const;

  at::ScalarType dtype_;
  int ranks_;
  std::int64_t cycle_;
  std::int64_t values_;
};

}  // namespace assay::collective
