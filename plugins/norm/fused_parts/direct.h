#pragma once

#include <algorithm>
#include <utility>

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

// Rows of a block without a ring.
constexpr int groups_of_block(int of_row) { return std::max(1, direct_threads / of_row); }

// Its threads.
constexpr int direct_block(int of_thread, int n_cols) {
  const int of_row = row_threads(of_thread, n_cols);
  return of_row * groups_of_block(of_row);
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

// What a row's threads may be for a kernel that is compiled for them, which takes fewer registers
// and meets sooner; 0: for one that learns them when it runs.
using KnownThreads = std::integer_sequence<int, 0, 32, 64, 128, 256, 512>;

constexpr int known_threads(int of_thread, int n_cols) {
  const int of_row = row_threads(of_thread, n_cols);
  const bool is_power = (of_row & (of_row - 1)) == 0;
  return is_power && of_row * of_thread >= largest_segment / 8 ? of_row : 0;
}

// Makes constant for the compiler what a row's threads determine; no cluster shares the row.
constexpr void know_threads(Layout& layout, int of_row) {
  layout.cluster = 1;
  layout.threads = of_row;
  layout.groups = groups_of_block(of_row);
}

// Calls call<threads>() with a row's threads as a constant, if they are among KnownThreads.
template <class Call>
void with_known_threads(int of_row, const Call& call) {
  [&]<int... threads>(std::integer_sequence<int, threads...>) {
    ((of_row == threads ? call.template operator()<threads>() : void()), ...);
  }
  (KnownThreads());
}

// Backward, whether groups read the next row to registers while they work on one, without a ring.
// Follows sweeps of many rows on an H200: docs/kernels/norms.md.
constexpr bool reads_ahead(const PassKind& kind, int of_thread, int n_cols) {
  if (kind.element_size == sizeof(float) || n_cols > largest_segment) return false;
  if (kind.centred) return !kind.adds || known_threads(of_thread, n_cols) > 0;
  if (!kind.adds && n_cols > largest_segment / 8 && n_cols <= largest_segment / 2) return false;
  const int at_once = ahead_blocks(of_thread, n_cols) * direct_block(of_thread, n_cols);
  return 100 * at_once * of_thread / largest_segment >= 75;
}

// Whether it holds of any width of a block's rows. Every choice spans a multiple of 32.
template <class Holds>
constexpr bool holds_of_any_width(const Holds& holds) {
  for (int n_cols = warp; n_cols <= largest_segment; n_cols += warp) {
    if (holds(n_cols)) return true;
  }
  return false;
}

// Whether any width's rows are read ahead by the kernel for those known threads.
constexpr bool is_ever_ahead(const PassKind& kind, int of_thread, int of_row) {
  return holds_of_any_width([&](int n_cols) {
    return reads_ahead(kind, of_thread, n_cols) && known_threads(of_thread, n_cols) == of_row;
  });
}

// Whether a forward's rows of any width have so many columns a thread.
constexpr bool is_ever_direct(const PassKind& kind, int of_thread) {
  return holds_of_any_width([&](int n_cols) { return direct_elements(kind, n_cols) == of_thread; });
}

// Whether LayerNorm's forwards of any width have those known threads. RMSNorm's gain nothing by
// them.
constexpr bool is_ever_known(const PassKind& kind, int of_thread, int of_row) {
  return kind.centred && holds_of_any_width([&](int n_cols) {
           return direct_elements(kind, n_cols) == of_thread &&
                  known_threads(of_thread, n_cols) == of_row;
         });
}

}  // namespace assay::norm_parts
