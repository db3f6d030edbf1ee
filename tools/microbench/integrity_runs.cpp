#include "integrity_runs.h"

#include <benchmark/benchmark.h>

#include <fstream>
#include <string>

#include "run/process/process.h"
#include "store/database/database.h"

namespace assay::microbench {
namespace {

struct Shape {
  const char* name;
  const char* experiment;  // without its settings
  int samples;
};

constexpr Shape shapes[] = {
    {"norms of 64 and 4096 rows, 1024 columns",
     "workload: norm\nmatrix: {norm: [layernorm, rmsnorm], rows: [64, 4096]}\n"
     "fixed: {n_cols: 1024, device: cpu}\n",
     200},
    {"attention, 128 and 512 tokens",
     "workload: attention\nmatrix: {attention: [naive, math_libtorch], seq_len: [128, 512]}\n"
     "fixed: {batch: 1, heads: 4, d_head: 64, device: cpu}\n",
     200},
    {"steps of toy",
     "workload: model_step\nmatrix: {architecture: [swiglu, gelu]}\n"
     "fixed: {model: toy, batch: 1, seq_len: 128, device: cpu}\n",
     50}};

struct Looks {
  double cases_s = 0;
  double looks_s = 0;
  std::int64_t looks = 0;
  bool good = true;
};

Looks looks_in(const std::filesystem::path& results) {
  auto database = store::Database::open(results / "assay.db", store::Access::read_only);
  const auto run = database ? database->load_run("integrity-1") : tl::unexpected(database.error());
  Looks all;
  all.good = run.has_value();
  if (!run) return all;
  for (const store::CaseResult& result : run->cases) {
    all.good = all.good && result.outcome == Outcome::ok;
    all.cases_s += result.wall_s;
    for (const auto& [pass, verification] : result.facts.verification) {
      all.looks += verification.timed.looks.value_or(0);
      all.looks_s += verification.timed.looks_s.value_or(0);
    }
  }
  return all;
}

void run_cases(benchmark::State& state, const std::filesystem::path& folder, const Shape& shape,
               const std::string& level) {
  const std::filesystem::path file = folder / "integrity.yaml", results = folder / "results";
  std::ofstream(file) << "experiment: integrity\n"
                      << shape.experiment << "measure: {warmup: 2, samples: " << shape.samples
                      << ", integrity: " << level << "}\n";
  for (auto _ : state) {
    std::filesystem::remove_all(results);
    const auto ended = run::capture(
        {{ASSAY_BUILD_DIR "/bin/assay", "run", file.string(), "--results", results.string()},
         {},
         false});
    const Looks looks = looks_in(results);
    if (!ended || !ended->ok() || !looks.good || looks.looks == 0) {
      return state.SkipWithError("assay failed");
    }
    state.SetIterationTime(looks.cases_s);
    const auto count = static_cast<double>(looks.looks);
    state.counters["looks"] = count;
    state.counters["s a look"] = looks.looks_s / count;
    state.counters["share of the cases"] = looks.looks_s / looks.cases_s;
  }
}

}  // namespace

void add_runs(const std::filesystem::path& folder) {
  for (const Shape& shape : shapes) {
    for (const char* level : {"fast", "full"}) {
      benchmark::RegisterBenchmark((std::string(shape.name) + ", " + level).c_str(),
                                   [folder, &shape, level](benchmark::State& state) {
                                     run_cases(state, folder, shape, level);
                                   })
          ->Iterations(1)
          ->Unit(benchmark::kSecond)
          ->UseManualTime();
    }
  }
}

}  // namespace assay::microbench
