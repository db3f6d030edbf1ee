// How the fused norms divide rows among threads, blocks and clusters.

#include <gtest/gtest.h>

#include "norm/fused_parts/plan.h"

namespace assay {
namespace {

using norm_parts::Plan;

// An H200's, less what the kernels declare themselves.
constexpr norm_parts::Machine h200 = {.multiprocessors = 132, .shared_bytes = 227 * 1024 - 2048};
constexpr int elements = 16;

std::optional<Plan> planned(std::int64_t rows, int n_cols, int bytes_a_column) {
  return norm_parts::plan({.rows = rows,
                           .n_cols = n_cols,
                           .eps = 1e-5F,
                           .elements = elements,
                           .bytes_a_column = bytes_a_column,
                           .sums_columns = true},
                          {}, h200);
}

TEST(NormPlan, EveryWidthHasThreadsForItsColumnsAndRoomForItsRows) {
  for (int n_cols = 1; n_cols <= 65536; n_cols += n_cols < 4200 ? 1 : 61) {
    for (const int bytes : {2, 4, 6, 8, 12}) {
      const auto made = planned(50000, n_cols, bytes);
      ASSERT_TRUE(made) << n_cols;
      const auto& [rows, of_cols, threads, groups, blocks, cluster, stages, eps] = made->layout;
      const int segment = threads * elements;
      EXPECT_GE(segment * cluster, n_cols);
      EXPECT_GT(n_cols, segment * (cluster - 1)) << n_cols << ": the last block has no column";
      EXPECT_EQ(threads % 32, 0);
      EXPECT_EQ(made->block_threads, threads * groups);
      EXPECT_LE(made->block_threads, 512) << n_cols;
      EXPECT_LE(groups, threads == 32 ? 16 : 15) << "a block has 15 barriers beside its own";
      EXPECT_TRUE(cluster == 1 || groups == 1);
      EXPECT_LE(cluster, 8);
      EXPECT_GE(stages, 2) << n_cols << ": nothing arrives while a row is worked on";
      EXPECT_LE(stages * groups * segment * bytes, made->dynamic_shared_bytes);
      EXPECT_LE(groups * segment * 4, made->dynamic_shared_bytes);
      EXPECT_LE(made->dynamic_shared_bytes, h200.shared_bytes) << n_cols;
      EXPECT_LE(blocks * cluster, 132) << "all blocks run at once";
    }
  }
}

TEST(NormPlan, FewRowsTakeFewBlocks) {
  EXPECT_EQ(planned(1, 1024, 8)->layout.blocks, 1);
  EXPECT_EQ(planned(17, 8192, 8)->layout.blocks, 17);
  EXPECT_EQ(planned(3, 65536, 8)->layout.blocks, 3);
}

TEST(NormPlan, ARowThatNoClusterHoldsHasNone) { EXPECT_FALSE(planned(1, 65537, 4)); }

}  // namespace
}  // namespace assay
