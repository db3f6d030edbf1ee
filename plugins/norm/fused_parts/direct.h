#pragma once

#include <algorithm>

#include "layout.h"

namespace assay::norm_parts {

// How a forward without a ring divides rows, each of which is read once by a group of its own.
struct Direct {
  int elements = 0;  // columns of a thread; 0: a ring is faster
  int threads = 0;   // of a block, or as many as a row needs
};

struct ForwardKind {
  bool centred = false;
  bool adds = false;
  int element_size = 0;
};

// Threads of a block.
constexpr int block_threads(const Direct& direct, int n_cols) {
  const int of_row = row_threads(direct.elements, n_cols);
  return of_row * std::max(1, direct.threads / of_row);
}

// Whether rows fill whole blocks, and nine tenths of their threads' columns.
constexpr bool fills(const Direct& direct, int n_cols) {
  const int of_row = row_threads(direct.elements, n_cols);
  return direct.threads % of_row == 0 && n_cols * 10 >= of_row * direct.elements * 9;
}

// What was fastest on an H200, of 768 columns and more: docs/kernels/norms.md.
constexpr Direct direct_of(const ForwardKind& kind, int n_cols) {
  constexpr int narrowest = 768;
  if (n_cols < narrowest || n_cols > largest_segment) return {};
  const auto if_filled = [&](const Direct& made) { return fills(made, n_cols) ? made : Direct{}; };
  constexpr Direct small_blocks = {.elements = elements, .threads = 256};
  constexpr Direct large_blocks = {.elements = elements, .threads = 512};
  constexpr Direct many = {.elements = many_elements, .threads = 256};
  constexpr Direct most = {.elements = most_elements, .threads = 256};
  const bool is_wide = n_cols > largest_segment / 2;
  if (kind.element_size == sizeof(float)) {
    if (kind.adds) return kind.centred || !is_wide ? Direct{} : if_filled(large_blocks);
    if (!kind.centred) return if_filled(large_blocks);
    return !is_wide && fills(small_blocks, n_cols) ? small_blocks : many;
  }
  if (kind.centred) {
    if (kind.adds) return if_filled(is_wide ? large_blocks : small_blocks);
    return if_filled(n_cols <= warp * many_elements ? many : most);
  }
  if (kind.adds) return n_cols > largest_segment / 4 ? if_filled(many) : Direct{};
  // At most four blocks share a multiprocessor: fewer threads would leave it empty.
  return block_threads(many, n_cols) * 4 >= many.threads * 3 ? many : Direct{};
}

// Whether rows of any width have so many columns a thread. Each choice spans more than 32 widths.
constexpr bool is_ever_direct(const ForwardKind& kind, int of_thread) {
  for (int n_cols = warp; n_cols <= largest_segment; n_cols += warp) {
    if (direct_of(kind, n_cols).elements == of_thread) return true;
  }
  return false;
}

}  // namespace assay::norm_parts
