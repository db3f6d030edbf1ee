#pragma once

#include "row_ring.cuh"

// Where a backward's rows come from and where dx goes.
namespace assay::norm_parts {

// x, dout and, with a residual, dsum.
struct RowStreams {
  Stream of[3];
};

// A thread's columns of a row of the first streams, as they lie in memory.
template <class Scalar, int of_streams, int elements>
struct KeptRow {
  using Element = Scalar;
  static constexpr int streams = of_streams;
  static constexpr int wide = width<Scalar>;
  static constexpr int steps = elements / wide;
  using Step = Packed<Scalar, wide>;

  Step values[streams][steps];
};

// Rows that a ring brings; dx goes the same way back where they are aligned.
template <class Group, class KeptRow>
class RingRows {
 public:
  using Row = KeptRow;
  using Element = typename Row::Element;

  __device__ RingRows(const Group& group, const RowStreams& streams,
                      std::uint64_t (&barriers)[largest_rings * largest_stages],
                      unsigned char* memory)
      : group_(group), ring_(group, streams.of, barriers, memory) {}

  __device__ static bool has(int) { return true; }
  __device__ void take(Row& row, int round) const {
    ring_.wait();
#pragma unroll
    for (int step = 0; step < Row::steps; ++step) {
#pragma unroll
      for (int i = 0; i < Row::streams; ++i) {
        row.values[i][step] = ring_.template read<Element, Row::wide>(i, step, round);
      }
    }
  }
  // Every thread of the group has taken the row and said so at a barrier.
  __device__ void has_taken(int round) {
    if constexpr (!Group::is_aligned) ring_.next(round);
  }
  __device__ void give(Element* row, int step, const typename Row::Step& dx, int) const {
    if constexpr (Group::is_aligned) {
      ring_.put(step, dx);
    } else {
      write(row, group_, step, dx);
    }
  }
  __device__ void has_given(Element* row, int round) {
    if constexpr (Group::is_aligned) {
      ring_.send(round, row, group_.end * static_cast<int>(sizeof(Element)));
    }
  }
  __device__ void finish() const { ring_.finish(); }

 private:
  const Group& group_;
  RowRing<Group, 3> ring_;
};

// Rows that are aligned, read to registers a round ahead of use: these hold what a ring has in
// shared memory. The last row may lie beyond the tensor: it is zeros, and nothing is written.
template <class Group, class KeptRow>
class RowsAhead {
  static_assert(Group::is_aligned);

 public:
  using Row = KeptRow;
  using Element = typename Row::Element;

  __device__ RowsAhead(const Group& group, const RowStreams& streams)
      : group_(group), streams_(streams) {
    load(0);
  }

  __device__ bool has(int round) const { return group_.row(round) < group_.layout.rows; }
  __device__ void take(Row& row, int round) {
    row = next_;
    if (round + 1 < group_.rows.count) load(round + 1);
  }
  __device__ void has_taken(int) const {}
  __device__ void give(Element* row, int step, const typename Row::Step& dx, int round) const {
    if (has(round)) write(row, group_, step, dx);
  }
  __device__ void has_given(Element*, int) const {}
  __device__ void finish() const {}

 private:
  __device__ void load(int round) {
#pragma unroll
    for (int i = 0; i < Row::streams; ++i) {
      const auto* const row =
          static_cast<const Element*>(streams_.of[i].data) + group_.first_element(round);
#pragma unroll
      for (int step = 0; step < Row::steps; ++step) {
        next_.values[i][step] = {};
        if (has(round) && group_.has(step)) {
          next_.values[i][step] = read_only<Element, Row::wide>(row + group_.column(step));
        }
      }
    }
  }

  const Group& group_;
  const RowStreams& streams_;
  Row next_;
};

}  // namespace assay::norm_parts
