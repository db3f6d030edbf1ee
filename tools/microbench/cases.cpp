// Times what the framework adds to a case: whole runs of 1000 and 10,000 trivial cases with real
// workers and a real database, on the CPU and, where there is one, on a GPU.
//   cmake -DASSAY_MICROBENCH=ON build/release && ninja -C build/release microbench_cases
//   build/release/bin/microbench_cases

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "run/cases/machine.h"
#include "run/process/process.h"

namespace {

namespace fs = std::filesystem;
using namespace assay;

constexpr std::int64_t repetitions = 1000;

std::string experiment_of(std::int64_t cases) {
  const auto numbers = [](std::int64_t count) {
    std::string list = "0";
    for (std::int64_t i = 1; i < count; ++i) list += ", " + std::to_string(i);
    return "[" + list + "]";
  };
  const std::int64_t repeats = std::min(cases, repetitions);
  return "experiment: trivial\nworkload: trivial\nmatrix:\n  repeat: " + numbers(repeats) +
         "\n  n: " + numbers(cases / repeats) +
         "\nmeasure: {warmup: 1, samples: 1}\n"
         "report:\n  - findings: [failures]\n";
}

// Seconds that the program takes for a run of this many cases; negative when it failed.
double run_s(const fs::path& folder, std::int64_t cases, const std::string& device) {
  const fs::path file = folder / "trivial.yaml";
  std::ofstream(file) << experiment_of(cases);
  fs::remove_all(folder / "results");
  const auto start = std::chrono::steady_clock::now();
  const auto ended = run::capture({{ASSAY_BUILD_DIR "/bin/assay", "run", file.string(), "--results",
                                    (folder / "results").string(), "--set", "device=" + device,
                                    "--plugin", ASSAY_BUILD_DIR "/tools/microbench/trivial.so"},
                                   {},
                                   false});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return ended && ended->ok() ? took.count() : -1;
}

void run_cases(benchmark::State& state, const fs::path& folder, const std::string& device,
               double alone_s) {
  for (auto _ : state) {
    const double took_s = run_s(folder, state.range(0), device);
    if (alone_s < 0 || took_s < 0) return state.SkipWithError("assay failed");
    state.SetIterationTime(took_s);
    state.counters["per case"] = (took_s - alone_s) / static_cast<double>(state.range(0) - 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const fs::path folder = fs::temp_directory_path() / ("assay-cases-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const bool has_gpu = !run::probe_machine().gpus.empty();
  for (const std::string device : {"cpu", "cuda"}) {
    if (device == "cuda" && !has_gpu) continue;
    run_s(folder, 1, device);  // writes the catalogue
    const double alone_s = run_s(folder, 1, device);
    benchmark::RegisterBenchmark(("assay run, N trivial cases, " + device).c_str(),
                                 [&folder, device, alone_s](benchmark::State& state) {
                                   run_cases(state, folder, device, alone_s);
                                 })
        ->Arg(1000)
        ->Arg(10000)
        ->Iterations(1)
        ->Unit(benchmark::kSecond)
        ->UseManualTime();
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  fs::remove_all(folder);
}
