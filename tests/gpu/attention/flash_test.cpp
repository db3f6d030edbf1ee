#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attention_results.h"
#include "device.h"
#include "plugins/attention/attention_inputs.h"
#include "plugins/support.h"

namespace assay {
namespace {

struct FlashCase {
  std::string name;
  test::AttentionShape shape;
  bool causal = true;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t window = 0;
  at::ScalarType dtype = at::kBFloat16;
};

void PrintTo(const FlashCase& tested, std::ostream* stream) { *stream << tested.name; }

class Flash : public testing::TestWithParam<FlashCase> {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
    const auto* device = at::cuda::getCurrentDeviceProperties();
    if (device->major != 9 || device->minor != 0) GTEST_SKIP() << "flash is for Hopper alone";
    const auto& tested = GetParam();
    in_ = test::attention_inputs(tested.shape, tested.dtype, tested.causal,
                                 test::Layout::heads_last, cuda);
    in_.window = tested.window;
    if (tested.kv_heads > 0) {
      in_.k = in_.k.narrow(1, 0, tested.kv_heads);
      in_.v = in_.v.narrow(1, 0, tested.kv_heads);
    }
    in_.q = in_.q.detach();
    in_.k = in_.k.detach();
    in_.v = in_.v.detach();
    dout_ = at::randn(in_.q.sizes(), model::seeded_generator(cuda, 18),
                      in_.q.options().dtype(at::kFloat))
                .to(tested.dtype);
    std::optional<std::string> reason;
    throw_unless_ok(plugin(false)->unsupported(in_, reason));
    if (reason) GTEST_SKIP() << *reason;
  }

  static std::unique_ptr<AttentionBoundary> plugin(bool deterministic) {
    return test::load<AttentionBoundary>("attention", "flash", "flash",
                                         {{"deterministic", deterministic}});
  }

  AttentionResults results(bool deterministic) {
    const auto attention = plugin(deterministic);
    AttentionOutput output;
    throw_unless_ok(attention->forward_with_lse(in_, output));
    AttentionGradients made;
    throw_unless_ok(attention->backward(in_, output.out, output.lse, dout_, made));
    return {output.out, output.lse, made.dq, made.dk, made.dv};
  }

  AttentionInputs in_;
  at::Tensor dout_;
};

TEST_P(Flash, IsAsExactAsTextbookAttentionTwice) {
  const auto right = textbook_results(in_, dout_, at::kDouble);
  const auto textbook = textbook_results(in_, dout_, GetParam().dtype);
  const auto dtype = GetParam().dtype;
  const double floor = dtype == at::kFloat ? 2e-6 : dtype == at::kHalf ? 3e-4 : 2e-3;
  for (const bool deterministic : {false, true}) {
    const auto made = results(deterministic);
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_LE(largest_error(made[i], right[i]), 2 * largest_error(textbook[i], right[i]) + floor)
          << result_names[i] << (deterministic ? ", deterministic" : "");
    }
  }
}

TEST_P(Flash, RepeatsToTheBitWhereDeterministic) {
  const auto first = results(true);
  for (int call = 0; call < 100; ++call) {
    const auto again = results(true);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(at::equal(first[i], again[i])) << result_names[i];
    }
  }
}

// Mangled names of the kernels that `work` launches; it has been done once before.
std::vector<std::string> kernels_of(const std::function<void()>& work) {
  at::cuda::CUDAGraph graph(/*keep_graph=*/true);
  {
    const c10::cuda::CUDAStreamGuard side_stream(c10::cuda::getStreamFromPool());
    graph.capture_begin();
    work();
    graph.capture_end();
  }
  std::size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph.raw_cuda_graph(), nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph.raw_cuda_graph(), nodes.data(), &count), cudaSuccess);
  std::vector<std::string> names;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type;
    EXPECT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams kernel;
    const char* name = nullptr;
    EXPECT_EQ(cudaGraphKernelNodeGetParams(node, &kernel), cudaSuccess);
    EXPECT_EQ(cudaFuncGetName(&name, kernel.func), cudaSuccess);
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
// keys, or queries, are shared among blocks of threads, and each compiled tile with a length that
// divides nothing.
INSTANTIATE_TEST_SUITE_P(
    Gpu, Flash,
    testing::Values(FlashCase{"many_tiles", {3, 24, 515, 515, 64}},
                    FlashCase{"long", {1, 8, 2305, 2305, 64}},
                    FlashCase{"long_middle", {1, 8, 2201, 2201, 80}},
                    FlashCase{"long_wider", {1, 8, 2150, 2300, 96}, false},
                    FlashCase{"long_wide", {1, 8, 2101, 2101, 128}},
                    FlashCase{"long_windowed", {1, 8, 2500, 2500, 64}, true, 2, 2100},
                    FlashCase{"few_shared", {1, 1, 2050, 2050, 64}},
                    FlashCase{"few_shared_full", {1, 1, 1030, 2111, 72}, false},
                    FlashCase{"short_middle", {2, 16, 700, 700, 80}},
                    FlashCase{"short_wider", {2, 16, 700, 650, 96}, true, 4},
                    FlashCase{"shared_tiles", {1, 1, 4099, 4099, 128}},
                    FlashCase{"shared_grouped_tiles", {1, 6, 2050, 2050, 80}, true, 2},
                    FlashCase{"shared_full_tiles", {1, 2, 3001, 1999, 96}, false},
                    FlashCase{"more_keys", {2, 3, 777, 1555, 80}},
                    FlashCase{"more_queries", {2, 3, 1555, 777, 128}},
                    FlashCase{"windowed", {1, 8, 1111, 1111, 128}, true, 2, 200},
                    FlashCase{"widest", {1, 4, 515, 515, 256}, true, 2},
                    FlashCase{"fp32", {2, 4, 1030, 1030, 64}, true, 0, 0, at::kFloat},
                    FlashCase{"fp32_wide", {1, 4, 777, 333, 128}, false, 2, 0, at::kFloat},
                    FlashCase{"fp16", {2, 4, 1030, 1030, 64}, true, 0, 0, at::kHalf},
                    FlashCase{"fp16_wide", {2, 4, 1030, 1030, 120}, false, 1, 0, at::kHalf}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace assay
