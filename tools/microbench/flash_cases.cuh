#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "attention/flash/launch.cuh"

// What the microbenchmarks of flash's kernels share.
namespace assay::flash {

using Element = __nv_bfloat16;

struct Case {
  int batch, heads, length, head;
  bool causal = true;

  std::size_t elements() const { return std::size_t(batch) * heads * length * head; }
  // Of the products of q and k, and of weights and values.
  double forward_flops() const {
    const double pairs = double(length) * length * (causal ? 0.5 : 1);
    return 4 * pairs * head * heads * batch;
  }

  std::string name() const {
    return "b" + std::to_string(batch) + " h" + std::to_string(heads) + " s" +
           std::to_string(length) + " d" + std::to_string(head) + (causal ? "" : " full");
  }
};

struct DeviceDelete {
  void operator()(void* memory) const { cudaFree(memory); }
};
template <class T>
using DeviceMemory = std::unique_ptr<T, DeviceDelete>;

template <class T>
DeviceMemory<T> device_memory(std::size_t count) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
  return DeviceMemory<T>(static_cast<T*>(memory));
}

// Numbers that repeat after a prime number of them, so that no two rows are alike: to draw all
// would take longer than to time the kernels.
inline DeviceMemory<Element> random_elements(std::size_t count, unsigned seed) {
  constexpr std::size_t period = 1'048'573;
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<Element> host(count);
  for (std::size_t i = 0; i < count; ++i) {
    host[i] = i < period ? __float2bfloat16(normal(generator)) : host[i - period];
  }
  auto made = device_memory<Element>(count);
  require(cudaMemcpy(made.get(), host.data(), count * sizeof(Element), cudaMemcpyHostToDevice),
          "cudaMemcpy");
  return made;
}

// [batch, heads, length, head] side by side.
inline Operand operand(const Case& of, Element* data) {
  const std::int64_t row = of.head, head = row * of.length;
  return Operand{data, head * of.heads, head, row};
}

inline Shape shape_of(const Case& of) {
  return {.batch = of.batch,
          .heads = of.heads,
          .kv_heads = of.heads,
          .queries = of.length,
          .keys = of.length,
          .head = of.head,
          .causal = of.causal,
          .window = 0,
          .scale = static_cast<float>(std::log2(std::exp(1.0)) / std::sqrt(of.head))};
}

inline std::vector<float> on_host(const DeviceMemory<Element>& memory, std::size_t count) {
  std::vector<Element> host(count);
  require(cudaMemcpy(host.data(), memory.get(), count * sizeof(Element), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
  return {host.begin(), host.end()};
}

inline double largest_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double distance = std::abs(a[i] - b[i]);
    if (std::isnan(distance)) return distance;
    largest = std::max(largest, distance);
  }
  return largest;
}

// Seconds of a replay of `calls` calls.
class Replays {
 public:
  Replays(int calls, const std::function<void(cudaStream_t)>& call) {
    require(cudaStreamCreate(&stream_), "cudaStreamCreate");
    require(cudaEventCreate(&begin_), "cudaEventCreate");
    require(cudaEventCreate(&end_), "cudaEventCreate");
    call(stream_);
    require(cudaStreamSynchronize(stream_), "the kernel");
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), "the capture");
    for (int i = 0; i < calls; ++i) call(stream_);
    cudaGraph_t graph;
    require(cudaStreamEndCapture(stream_, &graph), "the capture");
    require(cudaGraphInstantiate(&replay_, graph, 0), "cudaGraphInstantiate");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }
  Replays(const Replays&) = delete;
  Replays& operator=(const Replays&) = delete;
  ~Replays() {
    cudaGraphExecDestroy(replay_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }

  double time_s() {
    require(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    require(cudaGraphLaunch(replay_, stream_), "cudaGraphLaunch");
    require(cudaEventRecord(end_, stream_), "cudaEventRecord");
    require(cudaEventSynchronize(end_), "the replay");
    float ms = 0;
    require(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    return 1e-3 * ms;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_, end_;
  cudaGraphExec_t replay_;
};

}  // namespace assay::flash
