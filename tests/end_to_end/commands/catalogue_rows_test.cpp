// Every row of the catalogue's B, C, D, H, I and J, from a program that records its figures to its
// layout: one run, and a report for each layout.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* experiment = R"(experiment: rows
workload: catalogue_rows
include:
  - {row: B1}
  - {row: B2}
  - {row: B3}
  - {row: B4}
  - {row: B5}
  - {row: B6}
  - {row: B7}
  - {row: B8}
  - {row: C1}
  - {row: C1, terms: 10000, addend: 0.001}
  - {row: C2, precision: fp16}
  - {row: C2, precision: bf16}
  - {row: C3, precision: fp32}
  - {row: C3, precision: fp16}
  - {row: D1}
  - {row: D2}
  - {row: D3}
  - {row: D4}
  - {row: D5}
  - {row: D6}
  - {row: D6, checkpoint_every: 4}
  - {row: H1, world_size: 2, backend: gloo, measure.phases: true}
  - {row: H2}
  - {row: H2, nodes: 2, world_size: 2, backend: gloo}
  - {row: H3}
  - {row: H3, communication: rows_bucketed, communication.bucket_size: 10 MB}
  - {row: H4, communication: rows_bucketed, communication.bucket_size: 5 MB}
  - {row: H5}
  - {row: H5, communication: rows_bucketed}
  - {row: I1, world_size: 2, backend: gloo}
  - {row: I1, world_size: 2, backend: gloo, communication: rows_sharded}
  - {row: I2, communication: naive}
  - {row: I2, communication: rows_sharded}
  - {row: I3, communication: rows_sharded}
  - {row: I4, communication: naive}
  - {row: I4, communication: rows_sharded}
  - {row: J1, model: xxl, batch: 1}
  - {row: J1, model: xxl, batch: 2}
  - {row: J2, shards: 16}
  - {row: J2, shards: 32}
  - {row: J3}
  - {row: J4}
  - {row: J4, means: two mesh axes}
  - {row: J5, batch: 1024}
  - {row: J5, batch: 8192}
fixed: {device: cpu, row: none}
measure: {passes: [inference, forward, backward, train_step, account], warmup: 0, samples: 2}
)";

struct Row {
  const char* row;
  const char* layout;
  const char* shown;  // a piece of the report
};

const Row rows[] = {
    {"B1", "profiler_and_timer", "profiler / timer"},
    {"B2", "top_kernel", "60.0%"},
    {"B3", "kernels", "void gemm"},
    {"B4", "kernel_classes", "15.0%"},
    {"B5", "matmul_share", "-20.0"},
    {"B6", "attention_ranges", "0.250"},
    {"B7", "operators", "aten::mm"},
    {"B8", "step_flame", "norm"},
    {"C1", "accumulation", "10.009765625"},
    {"C1", "accumulation_larger", "   FP16 Result: 4.0, Error: 6.0\n"},
    {"C2", "dtype_trace", "torch.bfloat16"},
    {"C3", "norm_sensitivity", "overflows"},
    {"D1", "memory_timeline", "timeline-1.svg"},
    {"D2", "peak_memory", "full step"},
    {"D3", "residual_stream", "4.00 KiB"},
    {"D4", "largest_allocations", "8.00 MiB"},
    {"D5", "training_state", "0.01"},
    {"D6", "checkpointing", "24.00 MiB"},
    {"H1", "ddp_blocks", "d_model: 64, num_layers: 2"},
    {"H2", "nodes", "Two Nodes"},
    {"H3", "ddp_toy", "rows_bucketed(10 MB)"},
    {"H4", "bucket_sizes", "Bucket Size"},
    {"H5", "overlap_timeline", "25.0"},
    {"I1", "sharded_memory_peaks", "12.00 MiB"},
    {"I2", "sharded_optimizer", "Not Sharded"},
    {"I3", "sharding_volume", "3.00 MiB"},
    {"I4", "fully_sharded", "rows_sharded peak"},
    {"J1", "state_accounting", "3,517.58 GB in all: 44 GPUs of 80 GB"},
    {"J2", "memory_by_shards", "no"},
    {"J3", "compute_bound_batch", "compute bound from 800 tokens a device, 51200 in all."},
    {"J4", "batch_reductions", "0.50x"},
    {"J5", "parallelism_bounds", "plot-1.svg"},
};

TEST(CatalogueRows, AreRenderedFromWhatAProgramRecords) {
  const Folder folder;
  const Ended run = assay(folder.path(), {"run", folder.write("rows.yaml", experiment), "--plugin",
                                          fixture("catalogue_rows")});
  EXPECT_THAT(run.output, HasSubstr("outcomes: 44 ok, 1 skipped")) << run.errors;
  for (const auto& [row, layout, shown] : rows) {
    SCOPED_TRACE(std::string(row) + " " + layout);
    const std::string filter = std::string("row == '") + row + "'";
    const Ended made = assay(folder.path(), {"report", "latest", "--layout", layout, "--filter",
                                             filter, "--output", "made/report.md"});
    EXPECT_EQ(made.exit_code, 0) << made.errors;
    EXPECT_THAT(folder.read("made/report.md"), HasSubstr(shown));
  }
}

// The rows of these sections are 8, 3, 6, 6, 4 and 5; what H6 shows follows from all-reduces that
// are measured apart (catalogue_layouts_test.cpp).
TEST(CatalogueRows, AreAllOfTheirSections) {
  std::set<std::string> ids;
  for (const Row& row : rows) ids.insert(row.row);
  EXPECT_EQ(ids.size(), 31u);
}

}  // namespace
}  // namespace assay::test
