#pragma once

#include <cstdint>

namespace assay::norm_parts {

inline constexpr int warp = 32;
inline constexpr int largest_block = 1024;
inline constexpr int largest_cluster = 8;
inline constexpr int largest_segment = 8192;  // columns of a block
inline constexpr int largest_stages = 8;
inline constexpr int largest_rings = 16;  // groups of a block; barriers have 15 numbers

// Who works on which row. A group of threads has a row in its registers; where a row is too wide
// for a block, a cluster of blocks shares it.
struct Layout {
  std::int64_t rows = 0;
  int n_cols = 0;
  int threads = 0;  // of a group in a block: a multiple of 32
  int groups = 1;   // of a block
  int blocks = 1;   // of the grid; those of a cluster count once
  int cluster = 1;  // blocks that share a row
  int stages = 0;   // rows that lie or arrive in a group's ring
  float eps = 0;
};

}  // namespace assay::norm_parts
