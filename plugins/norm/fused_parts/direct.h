#pragma once

#include "layout.h"

namespace assay::norm_parts {

// Of a block of a forward without a ring, where a row does not need more.
inline constexpr int direct_threads = 128;
// Leaves a thread 128 registers, whatever columns it has: with more, too few rows are on their way.
inline constexpr int largest_direct_block = 512;

struct ForwardKind {
  bool centred = false;
  bool adds = false;
  int element_size = 0;
};

// How many of the columns that a row's threads can have the row has, in percent.
constexpr int filled(int of_thread, int n_cols) {
  return 100 * n_cols / (row_threads(of_thread, n_cols) * of_thread);
}

// Columns of a thread where a group of its own reads each row once, without a ring; 0: in a ring.
// A rule for what was fastest on an H200, within 4 %: docs/kernels/norms.md.
constexpr int direct_elements(const ForwardKind& kind, int n_cols) {
  if (n_cols > largest_segment) return 0;
  if (kind.element_size == sizeof(float)) {
    if (kind.centred && kind.adds && n_cols <= largest_segment / 8) return 0;
    return !kind.centred && n_cols > largest_segment / 2 ? many_elements : elements;
  }
  if (n_cols <= warp * elements) return elements;
  if (kind.centred && !kind.adds) return filled(many_elements, n_cols) < 70 ? 0 : many_elements;
  return n_cols <= largest_segment / 4 && filled(elements, n_cols) >= 90 ? elements : many_elements;
}

// Whether rows of any width have so many columns a thread. Each choice spans more than 32 widths.
constexpr bool is_ever_direct(const ForwardKind& kind, int of_thread) {
  for (int n_cols = warp; n_cols <= largest_segment; n_cols += warp) {
    if (direct_elements(kind, n_cols) == of_thread) return true;
  }
  return false;
}

}  // namespace assay::norm_parts
