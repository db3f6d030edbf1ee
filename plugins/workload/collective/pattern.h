#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace assay::collective {

// What each rank sends in a verified call: element i of rank r is (i + i / m + 5 r) mod m, for a
// prime m so small that sums over the ranks are exact in the dtype.
class Pattern {
 public:
  // Throws Unsupported where the dtype cannot hold the sums of so many ranks.
  Pattern(at::ScalarType dtype, int ranks);

  // A run of the pattern: of one rank, or its sum over all of them. On the device.
  at::Tensor of_rank(at::Device device, int rank, std::int64_t first, std::int64_t count) const;
  at::Tensor sum(at::Device device, std::int64_t first, std::int64_t count) const;

  // Calls visit(part, expected) for each part of `values`, whose element 0 is element `first` of a
  // pattern. make(0, count): that pattern's first elements. Takes 100 MB at most beside `values`.
  template <class Make, class Visit>
  void for_each_part(const at::Tensor& values, std::int64_t first, const Make& make,
                     const Visit& visit) const {
    constexpr std::int64_t most = std::int64_t{1} << 22;
    const std::int64_t period = modulus_ * modulus_;
    const std::int64_t count = values.numel();
    const at::Tensor tile = make(0, std::min(count, most) + period);
    for (std::int64_t begin = 0; begin < count; begin += most) {
      const std::int64_t part = std::min(most, count - begin);
      visit(values.narrow(0, begin, part), tile.narrow(0, (first + begin) % period, part));
    }
  }

  std::int64_t modulus() const { return modulus_; }

 private:
  at::ScalarType dtype_;
  int ranks_;
  std::int64_t modulus_ = 0;
};

}  // namespace assay::collective
