#pragma once

#include <cstdint>

namespace assay::norm_parts {

inline constexpr int warp = 32;
inline constexpr int largest_block = 1024;
inline constexpr int largest_cluster = 8;
inline constexpr int largest_segment =
    8192;  // columns of a block, plus a warp's where rows are askew
inline constexpr int largest_stages = 8;
inline constexpr int largest_rings = 16;  // groups of a block; barriers have 15 numbers

// Columns of a thread. Where a kernel keeps most for each, more of them leave it more registers for
// each, since fewer threads share a multiprocessor; without a ring, fewer warps have a row.
inline constexpr int elements = 16;
inline constexpr int many_elements = 32;

// How the rows of a tensor lie.
enum class Access {
  aligned,  // every row begins at a multiple of 16 bytes
  askew,    // the tensor does, other rows anywhere
};

constexpr int most_threads(int elements, Access access) {
  return largest_segment / elements + (access == Access::askew ? warp : 0);
}

// Of a row, or of a block's part of it.
constexpr int row_threads(int elements, int n_cols) {
  const int of_warp = warp * elements;
  return warp * ((n_cols + of_warp - 1) / of_warp);
}

// Whether a forward keeps weight and bias in shared memory, once for all groups of a block: with a
// bias its registers would not do.
constexpr bool shares_weights(bool centred, Access access) {
  return centred && access == Access::aligned;
}

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
  // Rows of a group, one after the other; 0: blocks stay and take rows in turn.
  int chunk = 0;
  // Of this many neighbouring rows each begins at another place within 16 bytes; a group takes rows
  // that begin at the same. 1: all are aligned.
  int classes = 1;
  float eps = 0;
};

}  // namespace assay::norm_parts
