// Times what integrity adds to a case on a CPU, level by level: new inputs ahead of each call,
// looks at timed calls, fingerprints of inputs, and whether a plugin has changed what judges it;
// then whole runs, with what the looks at their calls took.
//   cmake -DASSAY_MICROBENCH=ON build/release && ninja -C build/release microbench_integrity
//   OMP_NUM_THREADS=1 build/release/bin/microbench_integrity

#include <ATen/core/grad_mode.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "integrity_runs.h"
#include "worker/looks/timed_looks.h"
#include "worker/process/state_watch.h"

namespace {

using namespace assay;
using worker::Integrity;

// y = 2 x, whose look compares nothing but what every look asks.
class Doubling final : public ProgramBoundary {
 public:
  explicit Doubling(std::int64_t bytes) : x_(at::randn({bytes / 4})), y_(at::mul(x_, 2)) {}

  Status before(const std::string&) noexcept override { return {}; }
  Status run(const std::string&) noexcept override {
    at::mul_out(y_, x_, at::scalar_tensor(2));
    return {};
  }
  Status calls_in_a_row(const std::string&, int&) noexcept override { return {}; }
  Status run_in_a_row(const std::string&, int) noexcept override { return {}; }
  Status outputs(const std::string&, std::vector<NamedTensor>& tensors) noexcept override {
    tensors = {{"y", y_}};
    return {};
  }
  Status counts(const std::string&, std::vector<Count>&) noexcept override { return {}; }
  Status record(const std::string&, RecorderBoundary&) noexcept override { return {}; }
  Status inputs(const std::string&, std::vector<ProgramInput>& inputs) noexcept override {
    inputs = {{.name = "x", .tensor = x_}};
    return {};
  }
  Status writes_outputs_anew(const std::string&, bool& anew) noexcept override {
    anew = true;
    return {};
  }
  Status look(const std::string&, const Look&, Verification& found) noexcept override {
    found = {.checked = true, .error = 0, .tolerance = 1, .worst = "y", .textbook = 1};
    return {};
  }

 private:
  at::Tensor x_, y_;
};

const std::string pass = "forward";
constexpr std::uint64_t secret = 77;

void renew(benchmark::State& state, Integrity integrity) {
  Doubling program(state.range(0));
  worker::InputRenewal renewal(program, pass, secret, integrity);
  renewal.begin();
  for (auto _ : state) {
    renewal.renew_ahead();
    renewal.renew();
  }
}

void fingerprint(benchmark::State& state) {
  Doubling program(state.range(0));
  worker::InputRenewal renewal(program, pass, secret, Integrity::fast);
  for (auto _ : state) {
    if (!renewal.unchanged().ok()) return state.SkipWithError("the input has changed");
  }
}

// Behind a call each, whose time is left out.
void look(benchmark::State& state) {
  Doubling program(state.range(0));
  worker::InputRenewal renewal(program, pass, secret, Integrity::fast);
  worker::TimedLooks looks({.pass = pass, .secret = secret, .readings = 3});
  renewal.begin();
  for (auto _ : state) {
    state.PauseTiming();
    renewal.renew_ahead();
    renewal.renew();
    benchmark::DoNotOptimize(program.run(pass));
    state.ResumeTiming();
    looks.look(program, renewal);
  }
  if (!looks.status().ok()) state.SkipWithError(looks.status().reason.c_str());
}

void add_parts() {
  const auto over_sizes = [](benchmark::internal::Benchmark* of) {
    of->Arg(64 << 10)->Arg(4 << 20)->Arg(256 << 20)->Unit(benchmark::kMicrosecond)->UseRealTime();
  };
  over_sizes(benchmark::RegisterBenchmark("renew N bytes, fast", renew, Integrity::fast));
  over_sizes(benchmark::RegisterBenchmark("renew N bytes, full", renew, Integrity::full));
  over_sizes(benchmark::RegisterBenchmark("fingerprint of N bytes", fingerprint));
  over_sizes(benchmark::RegisterBenchmark("look at N bytes, without its reference", look));
  benchmark::RegisterBenchmark("tampered(), behind a case",
                               [](benchmark::State& state) {
                                 const worker::SharedCode shared;
                                 for (auto _ : state) benchmark::DoNotOptimize(shared.tampered());
                               })
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
  benchmark::RegisterBenchmark("code_tampered(), behind a pass",
                               [](benchmark::State& state) {
                                 const worker::SharedCode shared;
                                 for (auto _ : state)
                                   benchmark::DoNotOptimize(shared.code_tampered());
                               })
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const at::NoGradGuard no_grad;
  add_parts();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("assay-integrity-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  microbench::add_runs(folder);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  std::filesystem::remove_all(folder);
}
