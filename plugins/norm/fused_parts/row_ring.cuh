#pragma once

#include <cstdint>

#include "row_group.cuh"

namespace assay::norm_parts {

// A tensor [rows, n_cols] that is read; without data it is left out.
struct Stream {
  const void* data = nullptr;
  int element_size = 0;

  __host__ __device__ int bytes() const { return data == nullptr ? 0 : element_size; }
};

// The rows of a group on their way: the copy engine fills `stages` places in shared memory, one
// after the other, while the group works on an earlier one. A place holds the row of every stream.
// Copies are of whole 16 bytes: where rows begin or end elsewhere, their first and last elements
// are read from global memory.
template <int elements, int streams, Access access>
class RowRing {
 public:
  __device__ RowRing(const RowGroup<elements>& group, const Stream (&of)[streams],
                     std::uint64_t (&barriers)[largest_rings * largest_stages],
                     unsigned char* memory)
      : group_(group), of_(of), stages_(group.layout.stages) {
#pragma unroll
    for (int i = 0; i < streams; ++i) {
      offset_[i] = stage_bytes_;
      stage_bytes_ += of[i].bytes() * group.segment();
    }
    memory_ = memory + group.group * stages_ * stage_bytes_;
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

  // Waits for the row of this round.
  __device__ void wait(int round) {
    first_ = group_.first_element(round);
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

  // Where the row's element of this column is read.
  template <class Scalar>
  __device__ const Scalar* at(int stream, int column) const {
    const unsigned char* const place = memory_ + stage_ * stage_bytes_ + offset_[stream];
    if constexpr (access == Access::bulk) {
      return reinterpret_cast<const Scalar*>(place) + column;
    } else {
      const Scalar* const row = static_cast<const Scalar*>(of_[stream].data) + first_;
      const Copied copied = copied_of(row);
      const int byte = column * static_cast<int>(sizeof(Scalar)) - copied.skipped;
      return byte >= 0 && byte < copied.bytes ? reinterpret_cast<const Scalar*>(place + byte)
                                              : row + column;
    }
  }

  // Gives the current place to a later row; every thread of the group has read it and said so at a
  // barrier.
  __device__ void next(int round) {
    if (group_.thread == 0) request(stage_, round + stages_);
    if (++stage_ == stages_) {
      stage_ = 0;
      parity_ ^= 1;
    }
  }

 private:
  // The part of a row that is copied: whole 16 bytes.
  struct Copied {
    int skipped;  // bytes before it
    int bytes;
  };
  template <class Scalar>
  __device__ Copied copied_of(const Scalar* row) const {
    return copied_of(row, sizeof(Scalar));
  }
  __device__ Copied copied_of(const void* row, int element_size) const {
    const int bytes = group_.columns * element_size;
    if constexpr (access == Access::bulk) return {0, bytes};
    const int skipped = static_cast<int>(-reinterpret_cast<std::intptr_t>(row) & 15);
    return {skipped, max(0, bytes - skipped) & ~15};
  }

  __device__ void request(int stage, int round) const {
    if (!group_.has(round)) return;
    const std::uint32_t barrier = barriers_ + stage * 8;
    const std::int64_t first = group_.first_element(round);
    int bytes = 0;
#pragma unroll
    for (int i = 0; i < streams; ++i) {
      if (of_[i].bytes() > 0) bytes += copied_of(row_of(i, first), of_[i].element_size).bytes;
    }
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
#pragma unroll
    for (int i = 0; i < streams; ++i) {
      if (of_[i].bytes() == 0) continue;
      const char* const row = row_of(i, first);
      const Copied copied = copied_of(row, of_[i].element_size);
      if (copied.bytes == 0) continue;
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
          "[%3];" ::"r"(shared_address(memory_ + stage * stage_bytes_ + offset_[i])),
          "l"(row + copied.skipped), "r"(copied.bytes), "r"(barrier)
          : "memory");
    }
  }
  __device__ const char* row_of(int stream, std::int64_t first) const {
    return static_cast<const char*>(of_[stream].data) + first * of_[stream].element_size;
  }

  const RowGroup<elements>& group_;
  const Stream (&of_)[streams];
  int stages_;
  int offset_[streams] = {};
  int stage_bytes_ = 0;
  unsigned char* memory_ = nullptr;
  std::uint32_t barriers_ = 0;
  int stage_ = 0, parity_ = 0;
  std::int64_t first_ = 0;
};

}  // namespace assay::norm_parts
