#pragma once

#include <cstdint>

// How matrices lie in shared memory and how wgmma is told.
//
// A tile [rows, head] of 2-byte elements is cut into blocks of 64 columns, 128 bytes a row. In a
// block, the 16-byte piece c of row r lies at  128 r + 16 (c xor r mod 8)  from its start, which
// divides by 1024. The copy engine writes it so (CU_TENSOR_MAP_SWIZZLE_128B), and wgmma reads it
// so: eight rows of a column of pieces then lie in different banks.
namespace assay::flash {

inline constexpr int block_columns = 64;
inline constexpr int block_row_bytes = 128;
inline constexpr int swizzle_bytes = 1024;  // eight rows: the pattern repeats

__host__ __device__ constexpr int blocks_of_head(int head) {
  return (head + block_columns - 1) / block_columns;
}

// Bytes of a tile [rows, head] with its last block whole.
__host__ __device__ constexpr int tile_bytes(int rows, int head) {
  return rows * block_row_bytes * blocks_of_head(head);
}

// From the block's start, in bytes.
__host__ __device__ constexpr int swizzled(int row, int piece) {
  return row * block_row_bytes + ((piece ^ (row % 8)) * 16);
}

// The operand's address and two strides, all in 16 bytes. PTX ISA, "Matrix descriptor".
__host__ __device__ constexpr std::uint64_t descriptor(std::uint32_t address, int leading_bytes,
                                                       int stride_bytes) {
  constexpr std::uint64_t swizzle_128 = 1;
  return (static_cast<std::uint64_t>(address & 0x3FFFF) >> 4) |
         (static_cast<std::uint64_t>(leading_bytes >> 4) << 16) |
         (static_cast<std::uint64_t>(stride_bytes >> 4) << 32) | (swizzle_128 << 62);
}

// [m or n rows, 16 columns] with the 16 contiguous, as Q and K are read. The stride is that between
// groups of eight rows; the leading one is not used where 16 columns lie within a block.
__host__ __device__ constexpr std::uint64_t by_rows(std::uint32_t address) {
  return descriptor(address, 16, swizzle_bytes);
}

// [16 rows, n columns] with the n contiguous, as V is read. The stride is that between groups of
// eight rows, the leading one that between blocks of 64 columns.
__host__ __device__ constexpr std::uint64_t by_columns(std::uint32_t address, int tile_rows) {
  return descriptor(address, tile_rows * block_row_bytes, swizzle_bytes);
}

// Moves a descriptor on. Its lower half holds the address, in 14 bits: nothing is carried.
__host__ __device__ constexpr std::uint64_t advance(std::uint64_t descriptor, int bytes) {
  const auto lower =
      static_cast<std::uint32_t>(descriptor) + static_cast<std::uint32_t>(bytes >> 4);
  return (descriptor & 0xFFFFFFFF00000000) | lower;
}

}  // namespace assay::flash
