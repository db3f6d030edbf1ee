#pragma once

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace assay::test {

inline void capture(at::cuda::CUDAGraph& graph, const std::function<void()>& work) {
  const c10::cuda::CUDAStreamGuard side_stream(c10::cuda::getStreamFromPool());
  graph.capture_begin();
  work();
  graph.capture_end();
}

// What `work`, which has been done once before, launches.
class CapturedGraph {
 public:
  explicit CapturedGraph(const std::function<void()>& work) : graph_(/*keep_graph=*/true) {
    capture(graph_, work);
    std::size_t count = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph_.raw_cuda_graph(), nullptr, &count), cudaSuccess);
    nodes_.resize(count);
    EXPECT_EQ(cudaGraphGetNodes(graph_.raw_cuda_graph(), nodes_.data(), &count), cudaSuccess);
    read_edges();
  }

  // With their mangled names.
  std::vector<std::pair<cudaGraphNode_t, std::string>> kernels() const {
    std::vector<std::pair<cudaGraphNode_t, std::string>> named;
    for (const cudaGraphNode_t node : nodes_) {
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
      named.emplace_back(node, name == nullptr ? "" : name);
    }
    return named;
  }

  // Those that wait for `node`.
  std::set<cudaGraphNode_t> behind(cudaGraphNode_t node) const {
    std::set<cudaGraphNode_t> found;
    std::vector<cudaGraphNode_t> open = {node};
    while (!open.empty()) {
      const auto next = next_.find(open.back());
      open.pop_back();
      if (next == next_.end()) continue;
      for (const cudaGraphNode_t each : next->second) {
        if (found.insert(each).second) open.push_back(each);
      }
    }
    return found;
  }

 private:
  void read_edges() {
    std::size_t count = 0;
    const cudaGraph_t graph = graph_.raw_cuda_graph();
    EXPECT_EQ(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), cudaSuccess);
    std::vector<cudaGraphNode_t> from(count), to(count);
    std::vector<cudaGraphEdgeData> data(count);
    EXPECT_EQ(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &count), cudaSuccess);
    for (std::size_t i = 0; i < count; ++i) next_[from[i]].push_back(to[i]);
  }

  at::cuda::CUDAGraph graph_;
  std::vector<cudaGraphNode_t> nodes_;
  std::map<cudaGraphNode_t, std::vector<cudaGraphNode_t>> next_;
};

}  // namespace assay::test
