#include "plan.h"

#include <algorithm>

#include "direct.h"

namespace assay::norm_parts {

namespace {

int ceil_div(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

// Rows of a group, or 0 where blocks stay; `groups` run at once.
int chunk_of(const Need& need, const Filling& filling, std::int64_t groups) {
  constexpr int most_chunks = 1 << 26;
  constexpr int enough_rows = 16;
  if (filling.waves > 0) {
    const int chunk = ceil_div(need.rows, groups * filling.waves);
    return chunk < enough_rows ? 0 : chunk;
  }
  return filling.chunk == 0 ? 0 : std::max(filling.chunk, ceil_div(need.rows, most_chunks));
}

}  // namespace

Plan plan_directly(int of_thread, std::int64_t rows, int n_cols, float eps) {
  Plan made;
  Layout& layout = made.layout;
  layout.rows = rows;
  layout.n_cols = n_cols;
  layout.eps = eps;
  layout.threads = row_threads(of_thread, n_cols);
  layout.groups = groups_of_block(layout.threads);
  made.block_threads = layout.threads * layout.groups;
  layout.blocks = ceil_div(rows, layout.groups);
  return made;
}

Plan plan_ahead(int of_thread, std::int64_t rows, int n_cols, float eps, const Machine& machine) {
  Plan made = plan_directly(of_thread, rows, n_cols, eps);
  const int at_once = machine.multiprocessors * ahead_blocks(of_thread, n_cols);
  made.layout.blocks = std::min(made.layout.blocks, at_once);
  made.dynamic_shared_bytes = made.block_threads * of_thread * int{sizeof(float)};
  return made;
}

std::optional<Plan> plan(const Need& need, const Filling& filling, const Machine& machine) {
  Plan made;
  Layout& layout = made.layout;
  layout.rows = need.rows;
  layout.n_cols = need.n_cols;
  layout.eps = need.eps;
  layout.classes = need.classes;
  // Rows askew begin up to that many columns behind the 16 bytes that are read first.
  const int columns = need.n_cols + need.classes - 1;
  const int segment_limit =
      need.classes > 1 ? largest_segment + warp * need.elements : largest_segment;
  while (ceil_div(columns, layout.cluster) > segment_limit) layout.cluster *= 2;
  if (layout.cluster > largest_cluster) return {};
  layout.threads = row_threads(need.elements, ceil_div(columns, layout.cluster));
  const int most_threads =
      std::max(layout.threads, std::min(filling.threads, largest_segment / need.elements));
  if (layout.cluster == 1) {
    const int most = layout.threads == warp ? largest_rings : largest_rings - 1;
    layout.groups = std::clamp(most_threads / layout.threads, 1, most);
  }
  made.block_threads = layout.threads * layout.groups;

  // A row's threads may be more than a block was to have.
  const int blocks = std::max(1, filling.blocks * filling.threads / made.block_threads);

  const int segment = layout.threads * need.elements;
  const int stage_bytes = need.bytes_a_column * segment * layout.groups;
  const int ring_bytes = std::min(filling.ring_bytes / blocks, machine.shared_bytes);
  const int shared_bytes = filling.shared_vectors * segment * int{sizeof(float)};
  const int most_stages = (machine.shared_bytes - shared_bytes) / stage_bytes;
  if (most_stages == 0) return {};
  layout.stages = std::clamp(ring_bytes / stage_bytes, std::min(2, most_stages),
                             std::min(most_stages, largest_stages));
  const int sums_bytes = need.sums_columns ? layout.groups * segment * int{sizeof(float)} : 0;
  made.dynamic_shared_bytes = std::max(layout.stages * stage_bytes, sums_bytes) + shared_bytes;
  const int resident = std::max(1, machine.multiprocessors * blocks / layout.cluster);
  layout.chunk = chunk_of(need, filling, std::int64_t{resident} * layout.groups);
  if (layout.chunk > 0) {
    const int units = need.classes * ceil_div(need.rows, std::int64_t{need.classes} * layout.chunk);
    layout.blocks = ceil_div(units, layout.groups);
  } else {
    layout.blocks = std::max(std::min(resident, ceil_div(need.rows, layout.groups)),
                             ceil_div(need.classes, layout.groups));
  }
  return made;
}

}  // namespace assay::norm_parts
