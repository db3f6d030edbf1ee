#pragma once

#include "row_group.cuh"

namespace assay::norm_parts {

// A thread's part of a weight or a bias. Where rows are aligned and the vector is, too, it is read
// four elements at a time.
template <class From, int elements, class Group>
__device__ void load_as(float (&values)[elements], const From* from, const Group& me) {
  constexpr int four = 4;
  constexpr int wide = elements / Group::steps;
  const bool is_aligned =
      Group::is_aligned && reinterpret_cast<std::uintptr_t>(from) % (four * sizeof(From)) == 0;
#pragma unroll
  for (int i = 0; i < elements; i += four) {
    const int column = me.first_column + me.column(i / wide) + i % wide;
    float read[four] = {};
    if (is_aligned) {
      if (me.has(i / wide))
        unpack(read, *reinterpret_cast<const Packed<From, four>*>(from + column));
    } else {
#pragma unroll
      for (int j = 0; j < four; ++j) {
        if (me.has(i / wide, i % wide + j)) read[j] = static_cast<float>(from[column + j]);
      }
    }
#pragma unroll
    for (int j = 0; j < four; ++j) values[i + j] = read[j];
  }
}

// The choice of the dtype is around the loop, so that no load waits for another.
template <int elements, class Group>
__device__ void load(float (&values)[elements], const Typed& of, const Group& me) {
  switch (of.dtype) {
    case Dtype::bf16:
      return load_as(values, static_cast<const __nv_bfloat16*>(of.data), me);
    case Dtype::fp16:
      return load_as(values, static_cast<const __half*>(of.data), me);
    default:
      return load_as(values, static_cast<const float*>(of.data), me);
  }
}

// In a thread's registers.
template <class Group, int elements, int wide>
class KeptWeights {
 public:
  __device__ KeptWeights(const Typed& from, unsigned char*, const Group& me) {
    if (from.data != nullptr) load(values_, from, me);
  }
  __device__ void get(float (&values)[wide], int step) const {
#pragma unroll
    for (int i = 0; i < wide; ++i) values[i] = values_[step * wide + i];
  }

 private:
  float values_[elements] = {};
};

// In shared memory, once for all groups of a block, whose rows are aligned: each four of a thread's
// neighbouring columns lie beside the next thread's.
template <class Group, int elements, int wide>
class SharedWeights {
 public:
  // Nothing may be read until the block has met at a barrier.
  __device__ SharedWeights(const Typed& from, unsigned char* memory, const Group& me)
      : at_(shared_address(memory) + me.thread * 16), step_(me.layout.threads * 16) {
    if (me.group > 0) return;
    float values[elements] = {};
    if (from.data != nullptr) load(values, from, me);
#pragma unroll
    for (int i = 0; i < elements; i += 4) {
      asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at_ + i / 4 * step_),
                   "f"(values[i]), "f"(values[i + 1]), "f"(values[i + 2]), "f"(values[i + 3])
                   : "memory");
    }
  }
  __device__ void get(float (&values)[wide], int step) const {
#pragma unroll
    for (int i = 0; i < wide; i += 4) {
      asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(values[i]), "=f"(values[i + 1]), "=f"(values[i + 2]), "=f"(values[i + 3])
                   : "r"(at_ + (step * wide + i) / 4 * step_));
    }
  }

 private:
  std::uint32_t at_;
  int step_;
};

// Read where they are needed: for a thread of one row, which shares them with other blocks' through
// the cache. From a multiple of 16 bytes on.
template <class From, class Group, int wide>
class ReadWeights {
 public:
  __device__ ReadWeights(const Typed& from, const Group& me)
      : from_(static_cast<const From*>(from.data)), me_(me) {}
  __device__ void get(float (&values)[wide], int step) const {
    constexpr int four = 4;
#pragma unroll
    for (int i = 0; i < wide; i += four) {
      float read[four] = {};
      if (from_ != nullptr && me_.has(step)) {
        unpack(read, read_only<From, four>(from_ + me_.column(step) + i));
      }
#pragma unroll
      for (int j = 0; j < four; ++j) values[i + j] = read[j];
    }
  }

 private:
  const From* from_;  // or null
  const Group& me_;
};

}  // namespace assay::norm_parts
