// Times tiles of flash's forward beside each other, those that serve (forward_tiles.cuh) and
// others: replays of a graph of calls in a row, in µs a call. `off` is the largest distance of an
// output from that of the shape's first tile.
//   cmake -DASSAY_MICROBENCH=ON build/release && ninja -C build/release microbench_flash_tiles
//   build/release/bin/microbench_flash_tiles --benchmark_filter=d64 \
//     --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
// A GPU of compute capability 9.0, and no plugin, no LibTorch: a kernel can be tried in seconds.

#include <benchmark/benchmark.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "attention/flash/forward_tiles.cuh"
#include "flash_cases.cuh"

namespace {

using namespace assay::flash;

// q, k, v and the output, on the device from the first use on.
class Inputs {
 public:
  explicit Inputs(const Case& of) : case_(of) {}

  void draw() {
    if (q_) return;
    q_ = random_elements(case_.elements(), 1);
    k_ = random_elements(case_.elements(), 2);
    v_ = random_elements(case_.elements(), 3);
    out_ = device_memory<Element>(case_.elements());
    lse_ = device_memory<float>(case_.elements() / case_.head);
  }

  Shape shape() const { return shape_of(case_); }
  double flops() const { return case_.forward_flops(); }

  Problem problem(void* workspace) const {
    return {.shape = shape(),
            .q = operand(case_, q_.get()),
            .k = operand(case_, k_.get()),
            .v = operand(case_, v_.get()),
            .out = operand(case_, out_.get()),
            .bf16 = true,
            .lse = lse_.get(),
            .workspace = workspace};
  }

  std::vector<float> output() const { return on_host(out_, case_.elements()); }

  std::vector<float> first_output;  // of the first tile that was timed

 private:
  Case case_;
  DeviceMemory<Element> q_, k_, v_, out_;
  DeviceMemory<float> lse_;
};

// blocks_of_part: -1 for the parts that serve.
template <class T>
void time_tile(benchmark::State& state, Inputs& in, int blocks_of_part) {
  in.draw();
  const Shape shape = in.shape();
  const int part = blocks_of_part < 0 ? part_of<T>(shape) : blocks_of_part;
  const auto workspace =
      device_memory<std::byte>(Workspace<T>(shape, parts_of<T>(shape, part)).bytes);
  constexpr double of_a_long_call = 1e11;
  const int calls = in.flops() > of_a_long_call ? 10 : 40;
  Replays replays(calls, [&](cudaStream_t stream) {
    launch_forward<T>(in.problem(workspace.get()), stream, Grid::persistent, part);
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
void add(const Case& of, const std::shared_ptr<Inputs>& in, int blocks_of_part = -1) {
  std::string name = of.name() + "/" + std::to_string(T::groups) + "x" + std::to_string(T::keys);
  if (blocks_of_part >= 0) name += " in parts of " + std::to_string(blocks_of_part);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [in, blocks_of_part](benchmark::State& state) { time_tile<T>(state, *in, blocks_of_part); })
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
    for (const int blocks : {0, 2, 3, 4}) add<Few<Element, head>>(of, in, blocks);
    add<Tile<Element, head, 1, 64, 3, 1>>(of, in);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_long_and_short<64, Tile<Element, 64, 3, 128, 4, 2>, Tile<Element, 64, 2, 64, 4, 2>>(
      {{1, 16, 16384, 64}, {8, 1, 16384, 64}, {16, 16, 1024, 64}, {4, 12, 512, 64}});
  add_long_and_short<80>({{2, 32, 8192, 80}, {2, 32, 2048, 80}, {4, 32, 512, 80}});
  add_long_and_short<96, Tile<Element, 96, 2, 160, 2, 1>>({{2, 32, 8192, 96}});
  for (const Case& of : {Case{2, 16, 8192, 128}, Case{2, 16, 8192, 128, false},
                         Case{1, 1, 65536, 128}, Case{4, 16, 1024, 128}}) {
    add_all<Short<Element, 128>, Tile<Element, 128, 2, 160, 2, 1>>(of);
  }
  add_few<64>({128, 512, 1024, 2048});
  add_few<128>({128, 512, 1024, 2048});
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
