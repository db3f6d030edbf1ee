#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kernel_case.h"

namespace assay {
namespace {

class Flash : public testing::TestWithParam<KernelCase> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_hopper(); !why.empty()) GTEST_SKIP() << why;
    drawn_ = draw(GetParam());
    ASSERT_EQ(refusal_of(*flash(), drawn_.in), std::nullopt);
  }

  AttentionResults results(bool deterministic) { return results_of(*flash(deterministic), drawn_); }

  DrawnInputs drawn_;
};

TEST_P(Flash, IsAsExactAsTextbookAttentionTwice) {
  const ExactResults exact(drawn_);
  for (const bool deterministic : {false, true}) {
    SCOPED_TRACE(deterministic ? "deterministic" : "");
    exact.expect(results(deterministic));
  }
}

TEST_P(Flash, RepeatsToTheBitWhereDeterministic) {
  const auto first = results(true);
  for (int call = 0; call < 100; ++call) expect_equal(first, results(true));
}

void capture(at::cuda::CUDAGraph& graph, const std::function<void()>& work) {
  const c10::cuda::CUDAStreamGuard side_stream(c10::cuda::getStreamFromPool());
  graph.capture_begin();
  work();
  graph.capture_end();
}

// What the allocator gives next of more than a megabyte holds no numbers.
void spoil_memory() {
  c10::cuda::CUDACachingAllocator::emptyCache();
  static_cast<void>(at::full({std::int64_t{1} << 28}, std::nan(""), at::device(cuda)));
}

// Sums and counters that several launches share begin anew each time.
TEST_P(Flash, IsAsExactInUsedMemoryAndInAGraph) {
  const ExactResults exact(drawn_);
  spoil_memory();
  for (int call = 0; call < 3; ++call) exact.expect(results(false));
  at::cuda::CUDAGraph graph;
  AttentionResults made;
  capture(graph, [&] { made = results(false); });
  for (int call = 0; call < 3; ++call) {
    for (at::Tensor& result : made) result.fill_(std::nan(""));
    graph.replay();
    graph.replay();
    exact.expect(made);
  }
}

// Mangled names of the kernels that `work` launches; it has been done once before.
std::vector<std::string> kernels_of(const std::function<void()>& work) {
  at::cuda::CUDAGraph graph(/*keep_graph=*/true);
  capture(graph, work);
  std::size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph.raw_cuda_graph(), nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph.raw_cuda_graph(), nodes.data(), &count), cudaSuccess);
  std::vector<std::string> names;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type;
    EXPECT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams kernel = {};
    const char* name = nullptr;
    const auto error = cudaGraphKernelNodeGetParams(node, &kernel);
    EXPECT_EQ(error, cudaSuccess);
    if (error == cudaSuccess) {
      EXPECT_EQ(cudaFuncGetName(&name, kernel.func), cudaSuccess);
    }
    names.emplace_back(name == nullptr ? "" : name);
  }
  return names;
}

// Nothing falls back to a library's kernel.
TEST_P(Flash, LaunchesNoKernelButTheProjects) {
  static_cast<void>(results(false));
  const auto names = kernels_of([&] { static_cast<void>(results(false)); });
  EXPECT_GE(names.size(), 3u);  // a forward, and a backward with what prepares it
  for (const std::string& name : names) EXPECT_TRUE(name.starts_with("_ZN5assay")) << name;
}

// Beside the conformance suite's small shapes: more tiles than the GPU takes at once, tiles whose
// keys, or queries, are shared among blocks of threads, in clusters or not, each compiled tile with
// a length that divides nothing, causal ones whose first tile begins in front of the queries and
// whose warpgroups see different blocks, many more tiles of keys than the GPU takes at once, and,
// among them, tiles that no query sees.
INSTANTIATE_TEST_SUITE_P(
    Gpu, Flash,
    testing::Values(
        KernelCase{"many_tiles", {3, 24, 515, 515, 64}}, KernelCase{"long", {1, 8, 2305, 2305, 64}},
        KernelCase{"long_middle", {1, 8, 2201, 2201, 80}},
        KernelCase{"long_wider", {1, 8, 2150, 2300, 96}, at::kBFloat16, false},
        KernelCase{"long_wide", {1, 8, 2101, 2101, 128}},
        KernelCase{"long_windowed", {1, 8, 2500, 2500, 64}, at::kBFloat16, true, 2, 2100},
        KernelCase{"few_shared", {1, 1, 2050, 2050, 64}},
        KernelCase{"few_shared_full", {1, 1, 1030, 2111, 72}, at::kBFloat16, false},
        KernelCase{"four_together", {1, 1, 1001, 1001, 128}},
        KernelCase{"four_together_grouped", {1, 2, 520, 777, 64}, at::kHalf, true, 1},
        KernelCase{"four_together_unseen", {1, 1, 900, 600, 64}},
        KernelCase{"two_together_full", {1, 4, 1001, 600, 80}, at::kBFloat16, false},
        KernelCase{"short_middle", {2, 16, 700, 700, 80}},
        KernelCase{"short_wider", {2, 16, 700, 650, 96}, at::kBFloat16, true, 4},
        KernelCase{"shared_tiles", {1, 1, 4099, 4099, 128}},
        KernelCase{"shared_grouped_tiles", {1, 6, 2050, 2050, 80}, at::kBFloat16, true, 2},
        KernelCase{"shared_full_tiles", {1, 2, 3001, 1999, 96}, at::kBFloat16, false},
        KernelCase{"shared_cut_tiles", {1, 6, 2150, 2150, 64}},
        KernelCase{"shared_cut_tiles_middle", {1, 6, 2150, 2222, 80}, at::kHalf, true, 3},
        KernelCase{"one_query", {17, 8, 1, 1, 64}},
        KernelCase{"one_query_more_keys", {17, 8, 1, 333, 80}, at::kBFloat16, true, 2},
        KernelCase{"odd_65", {9, 8, 65, 65, 96}},
        KernelCase{"odd_191", {6, 8, 191, 191, 64}, at::kHalf},
        KernelCase{"odd_193", {5, 8, 193, 193, 128}},
        KernelCase{"cut_to_257", {3, 12, 257, 257, 64}},
        KernelCase{"cut_to_449", {3, 12, 449, 449, 64}, at::kHalf},
        KernelCase{"cut_to_1000", {1, 12, 1000, 1000, 64}},
        KernelCase{"cut_long_middle", {1, 5, 2241, 2241, 80}, at::kHalf},
        KernelCase{"cut_long_wider", {1, 5, 2049, 2049, 96}},
        KernelCase{"long_wide_full", {1, 6, 2305, 2305, 128}, at::kHalf, false},
        KernelCase{"long_wide_windowed", {1, 6, 4400, 4400, 128}, at::kBFloat16, true, 0, 2300},
        KernelCase{"cut_windowed", {1, 12, 1000, 1000, 64}, at::kBFloat16, true, 3, 70},
        KernelCase{"cut_windowed_more_keys", {3, 12, 300, 700, 64}, at::kBFloat16, true, 0, 190},
        KernelCase{"cut_more_keys", {3, 12, 300, 1000, 64}, at::kBFloat16, true, 4},
        KernelCase{"cut_more_queries", {1, 12, 1000, 300, 64}},
        KernelCase{"more_keys", {2, 3, 777, 1555, 80}},
        KernelCase{"more_queries", {2, 3, 1555, 777, 128}},
        KernelCase{"windowed", {1, 8, 1111, 1111, 128}, at::kBFloat16, true, 2, 200},
        KernelCase{"widest", {1, 4, 515, 515, 256}, at::kBFloat16, true, 2},
        KernelCase{"widest_one_query", {17, 8, 1, 333, 256}},
        KernelCase{"widest_long", {1, 8, 2101, 2101, 256}, at::kHalf},
        KernelCase{"widest_long_full", {1, 6, 1999, 2305, 256}, at::kBFloat16, false, 3},
        KernelCase{"widest_shared_tiles", {1, 1, 4099, 4099, 256}},
        KernelCase{"widest_windowed", {1, 8, 1111, 1111, 256}, at::kBFloat16, true, 2, 200},
        KernelCase{"widest_unseen", {16, 16, 130, 500, 256}, at::kBFloat16, true, 0, 60},
        KernelCase{"wider_than_128", {2, 3, 777, 1555, 136}},
        KernelCase{"wider_than_192", {2, 3, 1555, 777, 200}, at::kHalf, false},
        KernelCase{"fp32", {2, 4, 1030, 1030, 64}, at::kFloat},
        KernelCase{"fp32_wide", {1, 4, 777, 333, 128}, at::kFloat, false, 2},
        KernelCase{"fp32_narrow", {2, 3, 333, 777, 24}, at::kFloat},
        KernelCase{"fp32_shared_tiles", {1, 1, 4099, 4099, 128}, at::kFloat},
        KernelCase{"fp32_windowed", {1, 8, 1111, 1111, 64}, at::kFloat, true, 2, 200},
        KernelCase{"fp32_widest", {1, 4, 300, 300, 256}, at::kFloat, true, 2},
        KernelCase{"many_heads", {64, 16, 130, 130, 64}},
        KernelCase{"many_heads_middle", {48, 16, 300, 300, 80}, at::kBFloat16, true, 0, 100},
        KernelCase{"many_heads_grouped", {200, 8, 200, 333, 128}, at::kBFloat16, false, 2},
        KernelCase{"many_heads_fp32", {64, 8, 150, 150, 64}, at::kFloat},
        KernelCase{"many_heads_fp32_wide", {128, 8, 99, 130, 128}, at::kFloat, true, 4},
        KernelCase{"many_heads_fp16", {64, 12, 200, 140, 96}, at::kHalf},
        KernelCase{"many_unseen", {48, 16, 130, 500, 64}, at::kBFloat16, true, 0, 50},
        KernelCase{"many_unseen_wide", {32, 16, 130, 500, 128}, at::kBFloat16, true, 0, 60},
        KernelCase{"many_unseen_fp32", {8, 16, 130, 500, 64}, at::kFloat, true, 0, 50},
        KernelCase{"fp16", {2, 4, 1030, 1030, 64}, at::kHalf},
        KernelCase{"fp16_wide", {2, 4, 1030, 1030, 120}, at::kHalf, false, 1}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace assay
