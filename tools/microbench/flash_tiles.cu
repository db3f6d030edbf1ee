// Times tiles of flash's forward beside each other, those that serve (forward/tiles.cuh) and
// others: replays of a graph of calls in a row, in µs a call. `off` is the largest distance of an
// output from that of the shape's first tile.
//   cmake -DASSAY_MICROBENCH=ON build/release && ninja -C build/release microbench_flash_tiles
//   build/release/bin/microbench_flash_tiles --benchmark_filter=d64 \
//     --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
// A GPU of compute capability 9.0, and no plugin, no LibTorch: a kernel can be tried in seconds.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "attention/flash/forward/tiles.cuh"

namespace {

using namespace assay::flash;
using Element = __nv_bfloat16;

struct Case {
  int batch, heads, length, head;
  bool causal = true;

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
DeviceMemory<Element> random_elements(std::size_t count, unsigned seed) {
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

// [batch, heads, length, head] of q, k, v and the output, on the device from the first use on.
class Inputs {
 public:
  explicit Inputs(const Case& of)
      : shape_{.batch = of.batch,
               .heads = of.heads,
               .kv_heads = of.heads,
               .queries = of.length,
               .keys = of.length,
               .head = of.head,
               .causal = of.causal,
               .window = 0,
               .scale = static_cast<float>(std::log2(std::exp(1.0)) / std::sqrt(of.head)),
               .natural_scale = 1 / std::sqrt(static_cast<float>(of.head))},
        count_(std::size_t(of.batch) * of.heads * of.length * of.head) {}

  void draw() {
    if (q_) return;
    q_ = random_elements(count_, 1);
    k_ = random_elements(count_, 2);
    v_ = random_elements(count_, 3);
    out_ = device_memory<Element>(count_);
    lse_ = device_memory<float>(count_ / shape_.head);
  }

  const Shape& shape() const { return shape_; }

  Problem problem(void* workspace) const {
    const auto operand = [&](Element* data) {
      const std::int64_t row = shape_.head, head = row * shape_.queries;
      return Operand{data, head * shape_.heads, head, row};
    };
    return {.shape = shape_,
            .q = operand(q_.get()),
            .k = operand(k_.get()),
            .v = operand(v_.get()),
            .out = operand(out_.get()),
            .format = Format::bf16,
            .lse = lse_.get(),
            .workspace = workspace};
  }

  std::vector<float> output() const {
    std::vector<Element> host(count_);
    require(cudaMemcpy(host.data(), out_.get(), count_ * sizeof(Element), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    return {host.begin(), host.end()};
  }

  double flops() const {
    const double pairs = double(shape_.queries) * shape_.keys * (shape_.causal ? 0.5 : 1);
    return 4 * pairs * shape_.head * shape_.heads * shape_.batch;
  }

  std::vector<float> first_output;  // of the first tile that was timed

 private:
  Shape shape_;
  std::size_t count_;
  DeviceMemory<Element> q_, k_, v_, out_;
  DeviceMemory<float> lse_;
};

double largest_distance(const std::vector<float>& a, const std::vector<float>& b) {
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

// wanted: what serves where there is none.
template <class T>
void time_tile(benchmark::State& state, Inputs& in, std::optional<Sharing> wanted) {
  in.draw();
  const Shape& shape = in.shape();
  const Sharing sharing = wanted ? *wanted : sharing_of<T>(shape);
  const auto workspace =
      device_memory<std::byte>(Workspace<T>(shape, parts_of<T>(shape, sharing)).bytes);
  constexpr double of_a_long_call = 1e11;
  const int calls = in.flops() > of_a_long_call ? 10 : 40;
  Replays replays(calls, [&](cudaStream_t stream) {
    launch_forward<T>(in.problem(workspace.get()), stream, Grid::persistent, sharing);
  });
  const auto output = in.output();
  if (in.first_output.empty()) in.first_output = output;
  double total_s = 0;
  for (auto _ : state) {
    const double call_s = replays.time_s() / calls;
    state.SetIterationTime(call_s);
    total_s += call_s;
  }
  state.counters["TFLOP/s"] = 1e-12 * in.flops() * double(state.iterations()) / total_s;
  state.counters["off"] = largest_distance(output, in.first_output);
}

// A tile by its warpgroups and keys.
template <class T>
void add(const Case& of, const std::shared_ptr<Inputs>& in, std::optional<Sharing> sharing = {}) {
  std::string name = of.name() + "/" + std::to_string(T::groups) + "x" + std::to_string(T::keys);
  if (sharing && sharing->together > 1) {
    name += " in clusters of " + std::to_string(sharing->together);
  } else if (sharing) {
    name += " in parts of " + std::to_string(sharing->blocks);
  }
  benchmark::RegisterBenchmark(
      name.c_str(), [in, sharing](benchmark::State& state) { time_tile<T>(state, *in, sharing); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond)
      ->Iterations(7);
}

template <class... Tiles>
void add_all(const Case& of) {
  const auto in = std::make_shared<Inputs>(of);
  (add<Tiles>(of, in), ...);
}

template <int head, class... Others>
void add_long_and_short(std::initializer_list<Case> cases) {
  for (const Case& of : cases) {
    add_all<Short<Element, head>, Long<Element, head>, Others...>(of);
  }
}

// One head: a warpgroup a multiprocessor, by the parts of its longest tiles.
template <int head>
void add_few(std::initializer_list<int> lengths) {
  for (const int length : lengths) {
    const Case of{1, 1, length, head};
    const auto in = std::make_shared<Inputs>(of);
    add<Short<Element, head>>(of, in);
    for (const int blocks : {0, 2, 3, 4}) add<Few<Element, head>>(of, in, Sharing{blocks});
    for (const int together : {2, 4, 8}) add<Few<Element, head>>(of, in, Sharing{0, together});
    add<Tile<Element, head, 1, 64, 3, 1>>(of, in);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  // Beside what serves long ones, the same without guesses.
  add_long_and_short<64, Tile<Element, 64, 3, 128, 4, 2>>(
      {{1, 16, 16384, 64}, {8, 1, 16384, 64}, {16, 16, 1024, 64}, {4, 12, 512, 64}});
  add_long_and_short<80, Tile<Element, 80, 3, 96, 2, 1>>(
      {{2, 32, 8192, 80}, {2, 32, 2048, 80}, {4, 32, 512, 80}});
  add_long_and_short<96, Tile<Element, 96, 3, 96, 2, 1>>({{2, 32, 8192, 96}});
  for (const Case& of : {Case{2, 16, 8192, 128}, Case{2, 16, 8192, 128, false},
                         Case{1, 1, 65536, 128}, Case{4, 16, 1024, 128}}) {
    add_all<Short<Element, 128>, LongWide<Element>, Tile<Element, 128, 2, 144, 2, 1>>(of);
  }
  add_few<64>({128, 256, 512, 1024, 2048});
  add_few<128>({128, 256, 512, 1024, 2048});
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
