// Times ways to order the work of flash's backward beside each other: replays of a graph of calls in
// a row, in µs a call, with the kernels before and after it. `off` is the largest distance of a
// gradient from that of the shape's first way.
//   cmake -DASSAY_MICROBENCH=ON build/release && ninja -C build/release microbench_flash_backward_tiles
//   build/release/bin/microbench_flash_backward_tiles --benchmark_filter=d64 \
//     --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
// A GPU of compute capability 9.0, and no plugin, no LibTorch: a kernel can be tried in seconds.

#include <benchmark/benchmark.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "attention/flash/backward/tiles.cuh"
#include "attention/flash/forward_tiles.cuh"
#include "flash_cases.cuh"

namespace {

using namespace assay::flash;

// Of one shape, on the device from the first use on.
class Tensors {
 public:
  explicit Tensors(const Case& of) : case_(of) {}

  void make() {
    if (q_) return;
    const std::size_t count = case_.elements();
    q_ = random_elements(count, 1);
    k_ = random_elements(count, 2);
    v_ = random_elements(count, 3);
    dout_ = random_elements(count, 4);
    out_ = device_memory<Element>(count);
    dq_ = device_memory<Element>(count);
    dk_ = device_memory<Element>(count);
    dv_ = device_memory<Element>(count);
    lse_ = device_memory<float>(count / case_.head);
    with_tile<Element>(shape_of(case_), [&]<class T>(T) { compute_output<T>(); });
  }

  BackwardProblem problem(void* workspace) const {
    const auto at = [&](const DeviceMemory<Element>& memory) {
      return operand(case_, memory.get());
    };
    return {.shape = shape_of(case_),
            .natural_scale = 1 / std::sqrt(static_cast<float>(case_.head)),
            .q = at(q_),
            .k = at(k_),
            .v = at(v_),
            .out = at(out_),
            .dout = at(dout_),
            .dq = at(dq_),
            .dk = at(dk_),
            .dv = at(dv_),
            .bf16 = true,
            .lse = lse_.get(),
            .in_turns = false,
            .workspace = workspace};
  }

  std::vector<std::vector<float>> gradients() const {
    const std::size_t count = case_.elements();
    return {on_host(dq_, count), on_host(dk_, count), on_host(dv_, count)};
  }

  const Case& of() const { return case_; }

  std::vector<std::vector<float>> first;  // gradients of the first way that was timed

 private:
  template <class T>
  void compute_output() {
    const Shape shape = shape_of(case_);
    const int part = part_of<T>(shape);
    const auto workspace =
        device_memory<std::byte>(Workspace<T>(shape, parts_of<T>(shape, part)).bytes);
    launch_forward<T>({.shape = shape,
                       .q = operand(case_, q_.get()),
                       .k = operand(case_, k_.get()),
                       .v = operand(case_, v_.get()),
                       .out = operand(case_, out_.get()),
                       .bf16 = true,
                       .lse = lse_.get(),
                       .workspace = workspace.get()},
                      nullptr, Grid::persistent, part);
    require(cudaDeviceSynchronize(), "the forward");
  }

  Case case_;
  DeviceMemory<Element> q_, k_, v_, dout_, out_, dq_, dk_, dv_;
  DeviceMemory<float> lse_;
};

template <class T>
void time_way(benchmark::State& state, Tensors& tensors) {
  tensors.make();
  const Case& of = tensors.of();
  const auto workspace =
      device_memory<std::byte>(BackwardWorkspace<T>(shape_of(of), /*in_turns=*/false).bytes());
  const double flops = 2.5 * of.forward_flops();
  constexpr double of_a_long_call = 2e11;
  const int calls = flops > of_a_long_call ? 8 : 30;
  Replays replays(calls, [&](cudaStream_t stream) {
    launch_backward<T>(tensors.problem(workspace.get()), stream);
  });
  const auto gradients = tensors.gradients();
  if (tensors.first.empty()) tensors.first = gradients;
  double off = 0, total_s = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    off = std::max(off, largest_distance(gradients[i], tensors.first[i]));
  }
  for (auto _ : state) {
    const double call_s = replays.time_s() / calls;
    state.SetIterationTime(call_s);
    total_s += call_s;
  }
  state.counters["TFLOP/s"] = 1e-12 * flops * double(state.iterations()) / total_s;
  state.counters["off"] = off;
}

template <int head>
constexpr int rows = head <= 64 ? 128 : 64;

template <int head, BackwardFlow flow>
void add(const std::shared_ptr<Tensors>& tensors) {
  using T = BackwardTile<Element, head, rows<head>, (head > 64 && head < 128), flow>;
  const std::string name = tensors->of().name() + "/turns " + std::to_string(flow.turns) +
                           " lse " + std::to_string(flow.lse) + (flow.divide_once ? " once" : "");
  benchmark::RegisterBenchmark(
      name.c_str(), [tensors](benchmark::State& state) { time_way<T>(state, *tensors); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond)
      ->Iterations(5);
}

template <int head>
void add_ways(std::initializer_list<Case> cases) {
  for (const Case& of : cases) {
    const auto tensors = std::make_shared<Tensors>(of);
    add<head, BackwardFlow{}>(tensors);
    add<head, BackwardFlow{.lse = 1}>(tensors);
    add<head, BackwardFlow{.lse = 2}>(tensors);
    add<head, BackwardFlow{.divide_once = true}>(tensors);
    add<head, BackwardFlow{.lse = 1, .divide_once = true}>(tensors);
    add<head, BackwardFlow{.turns = 1, .lse = 1, .divide_once = true}>(tensors);
    add<head, BackwardFlow{.turns = 2, .lse = 1, .divide_once = true}>(tensors);
    add<head, BackwardFlow{.turns = 3, .lse = 1, .divide_once = true}>(tensors);
    add<head, BackwardFlow{.turns = 1, .lse = 2, .divide_once = true}>(tensors);
    add<head, BackwardFlow{.turns = 2, .lse = 2, .divide_once = true}>(tensors);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_ways<64>({{1, 16, 16384, 64}, {16, 16, 1024, 64}});
  add_ways<80>({{2, 32, 8192, 80}});
  add_ways<128>({{2, 16, 8192, 128}, {2, 16, 8192, 128, false}, {1, 1, 65536, 128}});
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
