#include "plan.h"

#include <algorithm>

namespace assay::norm_parts {

namespace {

int ceil_div(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

}  // namespace

std::optional<Plan> plan(const Need& need, const Filling& filling, const Machine& machine) {
  Plan made;
  Layout& layout = made.layout;
  layout.rows = need.rows;
  layout.n_cols = need.n_cols;
  layout.eps = need.eps;
  while (ceil_div(need.n_cols, layout.cluster) > largest_segment) layout.cluster *= 2;
  if (layout.cluster > largest_cluster) return {};
  layout.threads =
      warp * ceil_div(ceil_div(need.n_cols, layout.cluster), std::int64_t{warp} * need.elements);
  const int most_threads = std::min(filling.threads, largest_segment / need.elements);
  if (layout.cluster == 1) {
    const int most = layout.threads == warp ? largest_rings : largest_rings - 1;
    layout.groups = std::clamp(most_threads / layout.threads, 1, most);
  }
  made.block_threads = layout.threads * layout.groups;

  const int segment = layout.threads * need.elements;
  const int stage_bytes = need.bytes_a_column * segment * layout.groups;
  const int ring_bytes = std::min(filling.ring_bytes / filling.blocks, machine.shared_bytes);
  const int most_stages = machine.shared_bytes / stage_bytes;
  if (most_stages == 0) return {};
  layout.stages = std::clamp(ring_bytes / stage_bytes, std::min(2, most_stages),
                             std::min(most_stages, largest_stages));
  const int sums_bytes = need.sums_columns ? layout.groups * segment * int{sizeof(float)} : 0;
  made.dynamic_shared_bytes = std::max(layout.stages * stage_bytes, sums_bytes);
  layout.blocks = std::min(std::max(1, machine.multiprocessors * filling.blocks / layout.cluster),
                           ceil_div(need.rows, layout.groups));
  return made;
}

}  // namespace assay::norm_parts
