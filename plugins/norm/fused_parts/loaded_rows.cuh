#pragma once

#include "row_group.cuh"
#include "stream.h"

namespace assay::norm_parts {

// The row of a group straight from memory to registers, for rows that are aligned. What RowRing
// reads ahead of use, other blocks' rows do here.
template <class Group, int streams>
class LoadedRows {
  static_assert(Group::is_aligned);

 public:
  __device__ LoadedRows(const Group& group, const Stream (&of)[streams]) : group_(group), of_(of) {}

  __device__ void wait() const {}
  __device__ void next(int) const {}

  // A thread's elements of a step; zeros where the row has none.
  template <class Scalar, int wide>
  __device__ Packed<Scalar, wide> read(int stream, int step, int round) const {
    if (!group_.has(step)) return {};
    const auto* const row =
        static_cast<const Scalar*>(of_[stream].data) + group_.first_element(round);
    return read_only<Scalar, wide>(row + group_.column(step));
  }

 private:
  const Group& group_;
  const Stream (&of_)[streams];
};

}  // namespace assay::norm_parts
