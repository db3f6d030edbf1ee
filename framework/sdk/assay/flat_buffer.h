#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <assay/communication.h>
#include <c10/core/StorageImpl.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace assay {

// Several tensors one after another in one buffer, cut evenly into a slice for each rank. Parts
// begin at multiples of `alignment` elements, as do slices; what lies between is padding, 0 at
// first.
class FlatBuffer {
 public:
  static constexpr std::int64_t alignment = 64;

  FlatBuffer() = default;
  // sizes: of each part. ranks: at least 1. The same sizes and ranks give the same layout in every
  // dtype.
  FlatBuffer(const std::vector<std::vector<std::int64_t>>& sizes, int ranks,
             const at::TensorOptions& options)
      : FlatBuffer(sizes, ranks,
                   [&](std::int64_t elements) { return at::zeros({elements}, options); }) {}
  // zeros: returns so many, contiguous. release() needs memory of their storage's allocator.
  FlatBuffer(const std::vector<std::vector<std::int64_t>>& sizes, int ranks,
             const std::function<at::Tensor(std::int64_t)>& zeros)
      : ranks_(ranks) {
    std::int64_t size = 0;
    for (const auto& part : sizes) {
      std::int64_t count = 1;
      for (const std::int64_t length : part) count *= length;
      parts_.push_back({part, size, count});
      size += rounded_up(count, alignment);
    }
    size = rounded_up(size, alignment * ranks);
    values_ = zeros(size);
    bytes_ = values_.storage().nbytes();
  }

  // [elements()]. Writes to it do not disturb the version counters of tensors that were given its
  // views by set_data().
  const at::Tensor& values() const { return values_; }
  std::int64_t elements() const { return values_.defined() ? values_.size(0) : 0; }
  std::size_t part_count() const { return parts_.size(); }
  // A view of one part in its sizes.
  at::Tensor part(std::size_t index) const {
    const Part& part = parts_[index];
    return values_.narrow(0, part.first, part.count).view(part.sizes);
  }
  std::int64_t slice_elements() const { return elements() / ranks_; }
  // A view of one rank's slice, [slice_elements()].
  at::Tensor slice(int rank) const {
    return values_.narrow(0, rank * slice_elements(), slice_elements());
  }
  // What lies in a rank's slice. parameters: index of each part among the model's.
  std::vector<Piece> pieces(int rank, const std::vector<std::size_t>& parameters) const {
    const std::int64_t begin = rank * slice_elements();
    const std::int64_t end = begin + slice_elements();
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::int64_t first = std::max(begin, parts_[i].first);
      const std::int64_t last = std::min(end, parts_[i].first + parts_[i].count);
      if (first >= last) continue;
      pieces.push_back({parameters[i], first - parts_[i].first, last - first, first - begin});
    }
    return pieces;
  }

  // Makes what lies between the parts 0 again, after restore().
  void clear_padding() const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::int64_t end = parts_[i].first + parts_[i].count;
      const std::int64_t next = i + 1 < parts_.size() ? parts_[i + 1].first : elements();
      if (next > end) values_.narrow(0, end, next - end).zero_();
    }
  }

  // Gives the memory back. Views remain and may be read again after restore(), whose values are
  // undefined. Freed memory goes back to the stream on which it was allocated: wait for other
  // streams first.
  void release() {
    auto* storage = values_.storage().unsafeGetStorageImpl();
    storage->set_data_ptr_noswap(storage->allocator()->allocate(0));
    storage->set_nbytes(0);
  }
  void restore() {
    if (is_restored()) return;
    auto* storage = values_.storage().unsafeGetStorageImpl();
    storage->set_data_ptr_noswap(storage->allocator()->allocate(bytes_));
    storage->set_nbytes(bytes_);
  }
  bool is_restored() const { return values_.storage().nbytes() == bytes_; }

 private:
  struct Part {
    std::vector<std::int64_t> sizes;
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  static std::int64_t rounded_up(std::int64_t count, std::int64_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
  }

  int ranks_ = 1;
  std::vector<Part> parts_;
  at::Tensor values_;
  std::size_t bytes_ = 0;
};

}  // namespace assay
