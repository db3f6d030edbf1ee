#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

// A function an instruction, all of compute capability 8.0. Addresses of shared memory are 32 bits.
namespace assay::flash_portable {

__device__ __forceinline__ std::uint32_t shared_memory() {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_bytes));
}

// 16 bytes from global to shared memory, zeros where they are not there. They have arrived after
// wait_for_copies; for other threads after a barrier beyond it.
__device__ __forceinline__ void copy_16(std::uint32_t shared, const void* global, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
               "r"(there ? 16 : 0)
               : "memory");
}

__device__ __forceinline__ void copy_4(std::uint32_t shared, const void* global, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(global),
               "r"(there ? 4 : 0)
               : "memory");
}

__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// 16 bytes, zeros where they are not there.
__device__ __forceinline__ float4 load_global(const void* from, bool there) {
  float4 loaded;
  asm volatile(
      "{\n"
      ".reg .pred there;\n"
      "setp.ne.b32 there, %5, 0;\n"
      "mov.f32 %0, 0f00000000;\n"
      "mov.f32 %1, 0f00000000;\n"
      "mov.f32 %2, 0f00000000;\n"
      "mov.f32 %3, 0f00000000;\n"
      "@there ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=&f"(loaded.x), "=&f"(loaded.y), "=&f"(loaded.z), "=&f"(loaded.w)
      : "l"(from), "r"(static_cast<int>(there)));
  return loaded;
}

__device__ __forceinline__ float load_global_1(const float* from) { return __ldg(from); }

template <class Packed>
__device__ __forceinline__ void store_global(void* to, Packed packed) {
  *static_cast<Packed*>(to) = packed;
}

__device__ __forceinline__ float4 load_shared_4(std::uint32_t from) {
  float4 loaded;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(loaded.x), "=f"(loaded.y), "=f"(loaded.z), "=f"(loaded.w)
               : "r"(from)
               : "memory");
  return loaded;
}

__device__ __forceinline__ float2 load_shared_2(std::uint32_t from) {
  float2 loaded;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(loaded.x), "=f"(loaded.y)
               : "r"(from)
               : "memory");
  return loaded;
}

__device__ __forceinline__ void store_shared_4(std::uint32_t to, float4 stored) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(stored.x), "f"(stored.y),
               "f"(stored.z), "f"(stored.w)
               : "memory");
}

// Four matrices of 8 rows of 16 bytes. Lane 8i + r gives the address of row r of matrix i, and gets
// of each the 4 bytes number lane % 4 of row lane / 4.
__device__ __forceinline__ void load_matrices(std::uint32_t (&loaded)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(loaded[0]), "=r"(loaded[1]), "=r"(loaded[2]), "=r"(loaded[3])
               : "r"(row)
               : "memory");
}

// The same of the matrices' transposes, as matrices of 8 × 8 elements of 2 bytes.
__device__ __forceinline__ void load_transposed(std::uint32_t (&loaded)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(loaded[0]), "=r"(loaded[1]), "=r"(loaded[2]), "=r"(loaded[3])
               : "r"(row)
               : "memory");
}

// sums [16, 8] += left [16, 16] · right [16, 8], in elements of 2 bytes.
template <class Element>
__device__ __forceinline__ void multiply_add(float (&sums)[4], const std::uint32_t (&left)[4],
                                             std::uint32_t right_0, std::uint32_t right_1);

template <>
__device__ __forceinline__ void multiply_add<__nv_bfloat16>(float (&sums)[4],
                                                            const std::uint32_t (&left)[4],
                                                            std::uint32_t right_0,
                                                            std::uint32_t right_1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_0), "r"(right_1));
}

template <>
__device__ __forceinline__ void multiply_add<__half>(float (&sums)[4],
                                                     const std::uint32_t (&left)[4],
                                                     std::uint32_t right_0, std::uint32_t right_1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_0), "r"(right_1));
}

// sums [16, 8] += left [16, 8] · right [8, 8] in TF32, or, from_zero, = that.
template <bool from_zero>
__device__ __forceinline__ void multiply_add_tf32(float (&sums)[4], const std::uint32_t (&left)[4],
                                                  std::uint32_t right_0, std::uint32_t right_1) {
  if constexpr (from_zero) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%10, %10, %10, %10};"
        : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_0), "r"(right_1),
          "f"(0.f));
  } else {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_0), "r"(right_1));
  }
}

// The nearest TF32: 8 bits of exponent, 11 significant ones, the other 13 of the word 0. NaN stays.
__device__ __forceinline__ float nearest_tf32(float x) {
  std::uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return __uint_as_float(rounded);
}

__device__ __forceinline__ std::uint32_t bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ float float_of(std::uint32_t bits) { return __uint_as_float(bits); }

// 2^x to 2 ulp; results below 2^-126 are 0.
__device__ __forceinline__ float power_of_two(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

// a · b, rounded by itself: not one half of a fused multiply-add.
__device__ __forceinline__ float rounded_product(float a, float b) { return __fmul_rn(a, b); }

__device__ __forceinline__ float from_lane_xor(float x, int mask) {
  return __shfl_xor_sync(0xffffffffu, x, mask);
}

__device__ __forceinline__ void block_barrier() { __syncthreads(); }

}  // namespace assay::flash_portable
