#pragma once

#include <algorithm>

#include "layout.h"

namespace assay::norm_parts {

// Of a block without a ring, where a row does not need more.
inline constexpr int direct_threads = 128;
// Leaves a thread 128 registers, whatever columns it has: with more, too few rows are on their way.
inline constexpr int largest_direct_block = 512;

struct PassKind {
  bool centred = false;
  bool adds = false;
  int element_size = 0;
};

// Threads of a block without a ring: of whole rows.
constexpr int direct_block(int of_thread, int n_cols) {
  const int of_row = row_threads(of_thread, n_cols);
  return of_row * std::max(1, direct_threads / of_row);
}

// How many of the columns that a row's threads can have the row has, in percent.
constexpr int filled(int of_thread, int n_cols) {
  return 100 * n_cols / (row_threads(of_thread, n_cols) * of_thread);
}

// Forward, the columns of a thread where each row has a group of its own, which reads it straight
// to registers; 0: in a ring. A rule for what was fastest on an H200, within 4 %:
// docs/kernels/norms.md.
constexpr int direct_elements(const PassKind& kind, int n_cols) {
  if (n_cols > largest_segment) return 0;
  if (kind.element_size == sizeof(float)) {
    if (kind.centred && kind.adds && n_cols <= largest_segment / 8) return 0;
    return !kind.centred && n_cols > largest_segment / 2 ? many_elements : elements;
  }
  if (n_cols <= warp * elements) return elements;
  if (kind.centred && !kind.adds) return filled(many_elements, n_cols) < 70 ? 0 : many_elements;
  return n_cols <= largest_segment / 4 && filled(elements, n_cols) >= 90 ? elements : many_elements;
}

// Backward without a ring, the blocks that run at once on a multiprocessor: kernels are compiled so
// that the widest row's threads fill one.
constexpr int ahead_blocks(int of_thread, int n_cols) {
  return largest_segment / of_thread / direct_block(of_thread, n_cols);
}

// Whether a backward's rows of any width are read ahead.
constexpr bool is_ever_ahead(const PassKind& kind) {
  return kind.element_size < int{sizeof(float)} && (kind.centred || !kind.adds);
}

// Backward, whether groups read the next row to registers while they work on one, without a ring:
// where that was measured, with rows that fill their threads. docs/kernels/norms.md.
constexpr bool reads_ahead(const PassKind& kind, int of_thread, int n_cols) {
  const int most = kind.adds ? largest_segment / 2 : largest_segment;
  if (!is_ever_ahead(kind) || n_cols < largest_segment / 8 || n_cols > most) return false;
  const int columns = ahead_blocks(of_thread, n_cols) * direct_block(of_thread, n_cols) * of_thread;
  return filled(of_thread, n_cols) >= 90 && 100 * columns / largest_segment >= 90;
}

// Whether a forward's rows of any width have so many columns a thread. Each choice spans more than
// 32 widths.
constexpr bool is_ever_direct(const PassKind& kind, int of_thread) {
  for (int n_cols = warp; n_cols <= largest_segment; n_cols += warp) {
    if (direct_elements(kind, n_cols) == of_thread) return true;
  }
  return false;
}

}  // namespace assay::norm_parts
