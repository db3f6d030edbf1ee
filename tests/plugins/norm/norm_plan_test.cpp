// How the fused norms divide rows among threads, blocks and clusters.

#include <gtest/gtest.h>

#include "norm/fused_parts/direct.h"
#include "norm/fused_parts/plan.h"

namespace assay {
namespace {

using norm_parts::Plan;

// An H200's, less what the kernels declare themselves.
constexpr norm_parts::Machine h200 = {.multiprocessors = 132, .shared_bytes = 227 * 1024 - 2048};
constexpr int elements = 16;

struct PlannedRows {
  std::int64_t count = 50000;
  int n_cols = 1024;
  int classes = 1;
};

std::optional<Plan> planned(const PlannedRows& rows, int bytes_a_column,
                            const norm_parts::Filling& filling = {}) {
  return norm_parts::plan({.rows = rows.count,
                           .n_cols = rows.n_cols,
                           .eps = 1e-5F,
                           .elements = elements,
                           .classes = rows.classes,
                           .bytes_a_column = bytes_a_column,
                           .sums_columns = filling.chunk == 0},
                          filling, h200);
}

constexpr norm_parts::PassKind pass_kinds[] = {{.centred = false, .adds = false, .element_size = 2},
                                               {.centred = false, .adds = false, .element_size = 4},
                                               {.centred = false, .adds = true, .element_size = 2},
                                               {.centred = false, .adds = true, .element_size = 4},
                                               {.centred = true, .adds = false, .element_size = 2},
                                               {.centred = true, .adds = false, .element_size = 4},
                                               {.centred = true, .adds = true, .element_size = 2},
                                               {.centred = true, .adds = true, .element_size = 4}};

TEST(NormPlan, EveryWidthHasThreadsForItsColumnsAndRoomForItsRows) {
  for (int n_cols = 1; n_cols <= 65536; n_cols += n_cols < 4200 ? 1 : 61) {
    for (const int bytes : {2, 4, 6, 8, 12}) {
      const auto made = planned({.n_cols = n_cols}, bytes);
      ASSERT_TRUE(made) << n_cols;
      const auto& layout = made->layout;
      const int segment = layout.threads * elements;
      EXPECT_GE(segment * layout.cluster, n_cols);
      EXPECT_GT(n_cols, segment * (layout.cluster - 1))
          << n_cols << ": the last block has no column";
      EXPECT_EQ(layout.threads % 32, 0);
      EXPECT_EQ(made->block_threads, layout.threads * layout.groups);
      EXPECT_LE(made->block_threads, 512) << n_cols;
      EXPECT_LE(layout.groups, layout.threads == 32 ? 16 : 15)
          << "a block has 15 barriers beside its own";
      EXPECT_TRUE(layout.cluster == 1 || layout.groups == 1);
      EXPECT_LE(layout.cluster, 8);
      EXPECT_GE(layout.stages, 2) << n_cols << ": nothing arrives while a row is worked on";
      EXPECT_LE(layout.stages * layout.groups * segment * bytes, made->dynamic_shared_bytes);
      EXPECT_LE(layout.groups * segment * 4, made->dynamic_shared_bytes);
      EXPECT_LE(made->dynamic_shared_bytes, h200.shared_bytes) << n_cols;
      EXPECT_LE(layout.blocks * layout.cluster, 132) << "all blocks run at once";
    }
  }
}

// A row may begin up to seven columns behind the 16 bytes that are read first.
TEST(NormPlan, RowsAskewHaveThreadsForTheColumnsBeforeThem) {
  for (int n_cols = 1; n_cols < 65536; n_cols += n_cols < 4200 ? 2 : 62) {
    const auto made = planned({.count = 3, .n_cols = n_cols, .classes = 8}, 6);
    ASSERT_TRUE(made) << n_cols;
    const auto& layout = made->layout;
    EXPECT_GE(layout.threads * elements * layout.cluster, n_cols + 7);
    EXPECT_LE(made->block_threads, 544);
    EXPECT_LE(made->dynamic_shared_bytes, h200.shared_bytes) << n_cols;
    EXPECT_GE(layout.groups * layout.blocks, 8) << "every place of a beginning has a group";
  }
}

TEST(NormPlan, ChunksCoverAllRowsOfEveryPlace) {
  for (const std::int64_t count : {1, 7, 63, 1000, 50000}) {
    for (const int classes : {1, 2, 8}) {
      for (const int n_cols : {31, 1023, 8190, 40000}) {
        const auto made =
            planned({.count = count, .n_cols = n_cols, .classes = classes}, 2, {.chunk = 4});
        const auto& layout = made->layout;
        const auto units = std::int64_t{layout.blocks} * layout.groups;
        EXPECT_EQ(layout.chunk, 4);
        EXPECT_GE(units / classes * classes * 4, count) << n_cols;
        EXPECT_LT((units - layout.groups - classes) * 4, count)
            << n_cols << ": blocks without rows";
      }
    }
  }
}

TEST(NormPlan, BlocksOfMoreThreadsThanAskedForAreFewer) {
  const norm_parts::Filling filling = {.threads = 256, .blocks = 2};
  EXPECT_EQ(planned({.n_cols = 1024}, 4, filling)->layout.blocks, 264);
  EXPECT_EQ(planned({.n_cols = 8192}, 4, filling)->layout.blocks, 132);
}

TEST(NormPlan, KeptVectorsHaveRoomBesideTheRing) {
  const int ring = planned({}, 4)->dynamic_shared_bytes;
  EXPECT_EQ(planned({}, 4, {.shared_vectors = 2})->dynamic_shared_bytes, ring + 2 * 1024 * 4);
}

TEST(NormPlan, BlocksFollowOneAnotherWhereRowsAreMany) {
  const norm_parts::Filling filling = {.threads = 256, .blocks = 2, .waves = 3};
  const auto layout = planned({.count = 50000}, 4, filling)->layout;
  EXPECT_EQ(layout.chunk, 16);  // of 50,000 rows, 264 blocks of four groups and three waves
  EXPECT_GE(layout.blocks * layout.groups * layout.chunk, 50000);
  EXPECT_EQ(planned({.count = 5000}, 4, filling)->layout.chunk, 0);
  EXPECT_EQ(planned({.count = 5000}, 4, filling)->layout.blocks, 264);
}

TEST(NormPlan, FewRowsTakeFewBlocks) {
  EXPECT_EQ(planned({.count = 1, .n_cols = 1024}, 8)->layout.blocks, 1);
  EXPECT_EQ(planned({.count = 17, .n_cols = 8192}, 8)->layout.blocks, 17);
  EXPECT_EQ(planned({.count = 3, .n_cols = 65536}, 8)->layout.blocks, 3);
}

// Every row has one group, and its threads its columns, whatever the width.
TEST(NormPlan, WithoutARingEveryRowHasAGroup) {
  for (const norm_parts::PassKind kind : pass_kinds) {
    for (int n_cols = 4; n_cols <= 65536; n_cols += 4) {
      const int of_thread = norm_parts::direct_elements(kind, n_cols);
      if (of_thread == 0) continue;
      ASSERT_TRUE(norm_parts::is_ever_direct(kind, of_thread)) << n_cols;
      for (const std::int64_t count : {1, 7, 50000}) {
        const Plan made = norm_parts::plan_directly(of_thread, count, n_cols, 1e-5F);
        const auto& layout = made.layout;
        ASSERT_GE(layout.threads * of_thread, n_cols);
        ASSERT_LT((layout.threads - 32) * of_thread, n_cols) << "a warp has no column";
        ASSERT_EQ(made.block_threads, layout.threads * layout.groups);
        ASSERT_LE(made.block_threads, norm_parts::largest_direct_block);
        ASSERT_TRUE(layout.groups == 1 || made.block_threads <= 128);
        ASSERT_GE(std::int64_t{layout.blocks} * layout.groups, count);
        ASSERT_LT(std::int64_t{layout.blocks - 1} * layout.groups, count);
      }
    }
  }
}

// 64 threads of 16 columns have a row of 1,024 columns, and it fills them; 96 have one of 1,280,
// which fills 83 % of them.
TEST(NormPlan, RowsIn16BitHave16ColumnsAThreadWhereTheyFillThem) {
  for (const bool adds : {false, true}) {
    const norm_parts::PassKind kind = {.centred = adds, .adds = adds, .element_size = 2};
    const auto of_thread = [&](int n_cols) { return norm_parts::direct_elements(kind, n_cols); };
    EXPECT_EQ(of_thread(8), 16);
    EXPECT_EQ(of_thread(512), 16);
    EXPECT_EQ(of_thread(768), 32);
    EXPECT_EQ(of_thread(1024), 16);
    EXPECT_EQ(of_thread(1280), 32);
    EXPECT_EQ(of_thread(2048), 16);
    EXPECT_EQ(of_thread(2056), 32);
  }
}

// 32 threads of 32 columns have a row of 712 columns, which fills 69 % of them.
TEST(NormPlan, LayerNormIn16BitHasARingWhereRowsLeaveThreadsIdle) {
  const norm_parts::PassKind kind = {.centred = true, .element_size = 2};
  EXPECT_EQ(norm_parts::direct_elements(kind, 512), 16);
  EXPECT_EQ(norm_parts::direct_elements(kind, 712), 0);
  EXPECT_EQ(norm_parts::direct_elements(kind, 720), 32);
  EXPECT_EQ(norm_parts::direct_elements(kind, 8192), 32);
}

TEST(NormPlan, WideRowsOfRmsNormInFp32HaveFewerThreads) {
  EXPECT_EQ(norm_parts::direct_elements({.element_size = 4}, 4096), 16);
  EXPECT_EQ(norm_parts::direct_elements({.element_size = 4}, 4100), 32);
  EXPECT_EQ(norm_parts::direct_elements({.element_size = 4}, 8200), 0) << "a cluster shares it";
  const norm_parts::PassKind sums = {.centred = true, .adds = true, .element_size = 4};
  EXPECT_EQ(norm_parts::direct_elements(sums, 1024), 0);
  EXPECT_EQ(norm_parts::direct_elements(sums, 1028), 16);
  EXPECT_EQ(norm_parts::direct_elements(sums, 8192), 16);
}

// Kernels of 16 columns a thread have 128 registers, of 32 twice as many: 512 and 256 threads run
// on a multiprocessor.
TEST(NormPlan, BlocksThatReadAheadAreNoMoreThanRunAtOnce) {
  const auto ahead = [](int of_thread, std::int64_t rows, int n_cols) {
    return norm_parts::plan_ahead(of_thread, rows, n_cols, 1e-5F, h200);
  };
  EXPECT_EQ(ahead(16, 50'000, 1024).layout.blocks, 4 * 132);
  EXPECT_EQ(ahead(16, 50'000, 8192).layout.blocks, 132);
  EXPECT_EQ(ahead(32, 50'000, 1024).layout.blocks, 2 * 132);
  EXPECT_EQ(ahead(32, 50'000, 4096).layout.blocks, 2 * 132);
  EXPECT_EQ(ahead(16, 7, 1024).layout.blocks, 4) << "two rows a block";
  for (const int of_thread : {16, 32}) {
    for (int n_cols = 8; n_cols <= 8192; n_cols += 8) {
      const Plan made = ahead(of_thread, 50'000, n_cols);
      const int threads = made.layout.blocks * made.block_threads;
      ASSERT_LE(threads, 132 * 8192 / of_thread) << n_cols;
      ASSERT_GT(threads + 132 * made.block_threads, 132 * 8192 / of_thread)
          << n_cols << ": another block would fit";
      ASSERT_EQ(made.dynamic_shared_bytes, made.block_threads * of_thread * 4)
          << "a float a column and group";
    }
  }
}

// 16 columns a thread: 320 threads have a row of 5,120 columns, of which a multiprocessor has one
// at once, five eighths of what it can have. 32 a thread: 96 have one of 3,072, which none is
// compiled for.
TEST(NormPlan, BackwardsIn16BitReadAheadWhereThatIsFaster) {
  const std::vector<int> all = {256,  512,  768,  1024, 1280, 1536, 2048,
                                3072, 4096, 5120, 6400, 8192, 8200};
  const auto widths = [&](const norm_parts::PassKind& kind, int of_thread) {
    std::vector<int> found;
    for (const int n_cols : all) {
      if (norm_parts::reads_ahead(kind, of_thread, n_cols)) found.push_back(n_cols);
    }
    return found;
  };
  const std::vector<int> none, but_clusters(all.begin(), all.end() - 1);
  EXPECT_EQ(widths({.centred = true, .element_size = 2}, 16), but_clusters);
  EXPECT_EQ(widths({.centred = true, .adds = true, .element_size = 2}, 32),
            std::vector<int>({256, 512, 768, 1024, 1280, 1536, 2048, 4096, 8192}));
  EXPECT_EQ(widths({.element_size = 2}, 16), std::vector<int>({256, 512, 768, 1024, 6400, 8192}));
  EXPECT_EQ(widths({.adds = true, .element_size = 2}, 16),
            std::vector<int>({256, 512, 768, 1024, 1280, 1536, 2048, 3072, 4096, 6400, 8192}));
  EXPECT_EQ(widths({.element_size = 4}, 16), none);
  EXPECT_EQ(widths({.centred = true, .element_size = 4}, 16), none);
}

TEST(NormPlan, KernelsKnowThreadsThatAreAPowerOfTwo) {
  EXPECT_EQ(norm_parts::known_threads(16, 512), 0) << "one warp";
  EXPECT_EQ(norm_parts::known_threads(16, 520), 64);
  EXPECT_EQ(norm_parts::known_threads(16, 1024), 64);
  EXPECT_EQ(norm_parts::known_threads(16, 1032), 0) << "96 threads";
  EXPECT_EQ(norm_parts::known_threads(16, 2048), 128);
  EXPECT_EQ(norm_parts::known_threads(16, 8192), 512);
  EXPECT_EQ(norm_parts::known_threads(32, 1024), 32);
  EXPECT_EQ(norm_parts::known_threads(32, 3072), 0) << "96 threads";
  EXPECT_EQ(norm_parts::known_threads(32, 8192), 256);
}

template <int... threads>
bool holds(std::integer_sequence<int, threads...>, int of_row) {
  return ((threads == of_row) || ...);
}

TEST(NormPlan, EveryRowThatIsReadAheadHasAKernel) {
  for (const norm_parts::PassKind kind : pass_kinds) {
    const int of_thread = kind.centred && kind.adds ? 32 : 16;
    for (int n_cols = 8; n_cols <= 8192; n_cols += 8) {
      if (!norm_parts::reads_ahead(kind, of_thread, n_cols)) continue;
      const int of_row = norm_parts::known_threads(of_thread, n_cols);
      ASSERT_TRUE(norm_parts::is_ever_ahead(kind, of_thread, of_row)) << n_cols;
      ASSERT_TRUE(holds(norm_parts::KnownThreads(), of_row)) << n_cols;
    }
  }
}

TEST(NormPlan, LayerNormsForwardsHaveAKernelForTheirThreads) {
  for (const norm_parts::PassKind kind : pass_kinds) {
    for (int n_cols = 4; n_cols <= 8192; n_cols += 4) {
      const int of_thread = norm_parts::direct_elements(kind, n_cols);
      if (of_thread == 0) continue;
      const int of_row = norm_parts::known_threads(of_thread, n_cols);
      ASSERT_EQ(norm_parts::is_ever_known(kind, of_thread, of_row), kind.centred) << n_cols;
      ASSERT_TRUE(holds(norm_parts::KnownThreads(), of_row)) << n_cols;
    }
  }
}

TEST(NormPlan, ARowThatNoClusterHoldsHasNone) {
  EXPECT_FALSE(planned({.count = 1, .n_cols = 65537}, 4));
}

}  // namespace
}  // namespace assay
