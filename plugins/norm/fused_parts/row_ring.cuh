#pragma once

#include <cstdint>

#include "row_group.cuh"
#include "stream.h"

namespace assay::norm_parts {

// The rows of a group on their way: the copy engine fills `stages` places in shared memory, one
// after the other, while the group works on an earlier one. A place holds the row of every stream
// from the 16 bytes in which it begins to those in which it ends.
template <class Group, int streams>
class RowRing {
 public:
  __device__ RowRing(const Group& group, const Stream (&of)[streams],
                     std::uint64_t (&barriers)[largest_rings * largest_stages],
                     unsigned char* memory)
      : group_(group), of_(of), stages_(group.layout.stages) {
#pragma unroll
    for (int i = 0; i < streams; ++i) stage_bytes_ += of[i].bytes() * group.segment();
    memory_ = shared_address(memory) + group.group * stages_ * stage_bytes_;
    barriers_ = shared_address(&barriers[group.group * stages_]);
    if (group_.thread == 0) {
      for (int i = 0; i < stages_; ++i) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers_ + i * 8) : "memory");
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      for (int i = 0; i < stages_; ++i) request(i, i);
    }
    __syncthreads();
  }

  // Of all groups' rings.
  __device__ int block_bytes() const { return group_.layout.groups * stages_ * stage_bytes_; }

  // Waits for the next row.
  __device__ void wait() const {
    std::uint32_t arrived = 0;
    while (arrived == 0) {
      asm volatile(
          "{\n"
          ".reg .pred arrived;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 arrived, [%1], %2;\n"
          "selp.u32 %0, 1, 0, arrived;\n"
          "}"
          : "=r"(arrived)
          : "r"(barriers_ + stage_ * 8), "r"(parity_)
          : "memory");
    }
  }

  // A thread's elements of a step; zeros where the row has none.
  template <class Scalar, int wide>
  __device__ Packed<Scalar, wide> read(int stream, int step, int round) const {
    Packed<Scalar, wide> values = {};
    if (!group_.has(step)) return values;
    const std::uint32_t at = place(stream, group_.column(step));
    if constexpr (sizeof(values) == 16) {
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(values.words[0]), "=r"(values.words[1]), "=r"(values.words[2]),
                     "=r"(values.words[3])
                   : "r"(at));
    } else {
      asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                   : "=r"(values.words[0]), "=r"(values.words[1])
                   : "r"(at));
    }
    if (group_.has_part(step)) correct(values, stream, step, round);
    return values;
  }

  // Puts elements where `read` finds the first stream's, for `send`.
  template <class Scalar, int wide>
  __device__ void put(int step, const Packed<Scalar, wide>& values) const {
    if (!group_.has(step)) return;
    static_assert(sizeof(values) == 16);
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(place(0, group_.column(step))),
                 "r"(values.words[0]), "r"(values.words[1]), "r"(values.words[2]),
                 "r"(values.words[3])
                 : "memory");
  }
  // Writes what the group has put, then gives the place of the round before to a later row.
  __device__ void send(int round, void* to, int bytes) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    group_.meet();
    if (group_.thread == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                   "r"(memory_ + stage_ * stage_bytes_), "r"(bytes)
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      if (stages_ > 1) {
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        if (round > 0) request(stage_ == 0 ? stages_ - 1 : stage_ - 1, round - 1 + stages_);
      } else {
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        request(0, round + 1);
      }
    }
    advance();
  }
  __device__ void finish() const {
    if (group_.thread == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }

  // Gives the current place to a later row; every thread of the group has read it and said so at a
  // barrier.
  __device__ void next(int round) {
    if (group_.thread == 0) request(stage_, round + stages_);
    advance();
  }

 private:
  __device__ void advance() {
    if (++stage_ == stages_) {
      stage_ = 0;
      parity_ ^= 1;
    }
  }
  __device__ std::uint32_t place(int stream, int column) const {
    std::uint32_t at = memory_ + stage_ * stage_bytes_ + column * of_[stream].element_size;
#pragma unroll
    for (int i = 0; i < streams; ++i) {
      if (i < stream) at += of_[i].bytes() * group_.segment();
    }
    return at;
  }
  // Of a row: whole 16 bytes, but none beyond the tensor.
  __device__ int copied_bytes(int stream, int round) const {
    const int bytes = group_.end * of_[stream].element_size;
    if constexpr (Group::is_aligned) return bytes;
    return (group_.row(round) + 1 < group_.layout.rows ? bytes + 15 : bytes) & ~15;
  }

  // Where the row has only some of the elements, and those that lie where nothing was copied.
  template <class Scalar, int wide>
  __device__ void correct(Packed<Scalar, wide>& values, int stream, int step, int round) const {
    const bool is_copied = (group_.column(step) + wide) * static_cast<int>(sizeof(Scalar)) <=
                           copied_bytes(stream, round);
    const Scalar* const row =
        static_cast<const Scalar*>(of_[stream].data) + group_.first_element(round);
    auto* const elements = reinterpret_cast<Scalar*>(&values);
#pragma unroll
    for (int i = 0; i < wide; ++i) {
      if (!group_.has(step, i)) {
        elements[i] = Scalar(0.F);
      } else if (!is_copied) {
        elements[i] = row[group_.column(step) + i];
      }
    }
  }

  __device__ void request(int stage, int round) const {
    if (round >= group_.rows.count) return;
    const std::uint32_t barrier = barriers_ + stage * 8;
    const std::int64_t first = group_.first_element(round);
    int bytes = 0;
#pragma unroll
    for (int i = 0; i < streams; ++i) {
      if (of_[i].bytes() > 0) bytes += copied_bytes(i, round);
    }
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    std::uint32_t to = memory_ + stage * stage_bytes_;
#pragma unroll
    for (int i = 0; i < streams; ++i) {
      if (of_[i].bytes() == 0) continue;
      const char* const row = static_cast<const char*>(of_[i].data) + first * of_[i].element_size;
      const int of_stream = copied_bytes(i, round);
      if (of_stream > 0) {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
            "[%3];" ::"r"(to),
            "l"(row), "r"(of_stream), "r"(barrier)
            : "memory");
      }
      to += of_[i].bytes() * group_.segment();
    }
  }

  const Group& group_;
  const Stream (&of_)[streams];
  int stages_;
  int stage_bytes_ = 0;
  std::uint32_t memory_ = 0, barriers_ = 0;
  int stage_ = 0, parity_ = 0;
};

// Writes a thread's elements of a step to the row in global memory.
template <class Scalar, class Group, int wide>
__device__ void write(Scalar* row, const Group& me, int step, const Packed<Scalar, wide>& values) {
  if (!me.has(step)) return;
  Scalar* const to = row + me.column(step);
  if (!me.has_part(step)) {
    *reinterpret_cast<Packed<Scalar, wide>*>(to) = values;
    return;
  }
#pragma unroll
  for (int i = 0; i < wide; ++i) {
    if (me.has(step, i)) to[i] = reinterpret_cast<const Scalar*>(&values)[i];
  }
}

}  // namespace assay::norm_parts
