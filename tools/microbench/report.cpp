// Times a report over 10,000 series, from the database to the Markdown with its plots, and how that
// grows up to 100,000 cases, each with two series.
//   cmake -DASSAY_MICROBENCH=ON build/release && ninja -C build/release microbench_report
//   build/release/bin/microbench_report

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "report/page/report.h"
#include "store/database/database.h"

namespace {

using namespace assay;

constexpr int samples = 20;

store::Series series(const char* pass, const char* metric, const char* unit, double size) {
  store::Series result;
  result.pass = pass;
  result.metric = metric;
  result.unit = unit;
  for (int i = 0; i < samples; ++i) result.samples.push_back(size * (1 + 0.01 * i));
  return result;
}

// 2500 cases, each with time and peak memory of two passes.
store::Run large_run() {
  store::Run run;
  run.info.experiment = "large";
  for (const std::int64_t batch : {1, 2, 4, 8, 16}) {
    for (const std::int64_t d_head : {16, 32, 64, 128, 256}) {
      for (const char* precision : {"fp32", "bf16"}) {
        for (const char* attention : {"naive", "flash", "tiled", "fused", "mine"}) {
          for (std::int64_t seq_len = 128; seq_len <= 65536; seq_len *= 2) {
            store::CaseResult result;
            result.ordinal = static_cast<std::int64_t>(run.cases.size());
            result.key = std::to_string(result.ordinal);
            result.parameters = {{"batch", batch},
                                 {"d_head", d_head},
                                 {"precision", std::string(precision)},
                                 {"attention", std::string(attention)},
                                 {"seq_len", seq_len}};
            for (const char* pass : {"forward", "backward"}) {
              const auto size = static_cast<double>(batch * d_head * seq_len);
              result.series.push_back(series(pass, "time", "s", 1e-9 * size));
              result.series.push_back(series(pass, "peak_memory", "byte", 16 * size));
            }
            run.cases.push_back(std::move(result));
          }
        }
      }
    }
  }
  return run;
}

// Each with a time of two passes, over batch, length and variant.
store::Run run_of(std::int64_t cases) {
  constexpr std::int64_t lengths = 10, variants = 5;
  store::Run run;
  run.info.experiment = "many";
  for (std::int64_t i = 0; i < cases; ++i) {
    const std::int64_t seq_len = 128 << (i % lengths), variant = i / lengths % variants;
    const std::int64_t batch = 1 + i / (lengths * variants);
    store::CaseResult result;
    result.ordinal = i;
    result.key = std::to_string(i);
    result.parameters = {
        {"batch", batch}, {"attention", "variant" + std::to_string(variant)}, {"seq_len", seq_len}};
    const auto size = static_cast<double>(batch * seq_len) / static_cast<double>(1 + variant);
    for (const char* pass : {"forward", "backward"}) {
      result.series.push_back(series(pass, "time", "s", 1e-9 * size));
    }
    run.cases.push_back(std::move(result));
  }
  return run;
}

const char* const of_many = R"(
- table:
    rows: [batch, seq_len]
    pivot: {by: [pass, attention], metric: time, unit: ms, format: "{:.3f}"}
- plot: {x: seq_len, y: {metric: time, pass: forward, unit: ms}, series: [attention], where: {batch: 1}, scale: log-log}
- findings: [speedup, scaling, noise, failures]
)";

const char* const pivoted = R"(
- table:
    rows: [batch, seq_len, d_head, precision]
    pivot: {by: [pass, attention], metric: time, unit: ms, format: "{:.3f}"}
- findings: [speedup, scaling, noise, failures]
)";

// `spec`: "" for the default report.
void render(benchmark::State& state, const std::string& spec, const std::filesystem::path& folder,
            const std::string& name) {
  for (auto _ : state) {
    auto database = store::Database::open(folder / "assay.db", store::Access::read_only);
    const auto run = database ? database->load_run(name) : tl::unexpected(database.error());
    if (!run) return state.SkipWithError(run.error().text().c_str());
    report::Inputs inputs;
    inputs.sources = {&*run};
    inputs.folder = folder;
    if (!spec.empty()) inputs.spec = *yaml::parse(spec, "spec.yaml");
    const auto document = report::build(inputs);
    if (!document) return state.SkipWithError(document.error().text().c_str());
    benchmark::DoNotOptimize(report::to_markdown(*document));
  }
}

// A report of N cases, in a database of its own.
void render_many(benchmark::State& state, const std::filesystem::path& folder) {
  const std::filesystem::path own = folder / std::to_string(state.range(0));
  std::string name;
  {
    auto database = store::Database::open(own / "assay.db", store::Access::read_write);
    const auto added =
        database ? database->add_run(run_of(state.range(0))) : tl::unexpected(database.error());
    if (!added) return state.SkipWithError(added.error().text().c_str());
    name = *added;
  }
  render(state, of_many, own, name);
  state.counters["per case"] = benchmark::Counter(
      static_cast<double>(state.iterations() * state.range(0)),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert, benchmark::Counter::kIs1000);
  std::filesystem::remove_all(own);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("assay-microbench-" + std::to_string(::getpid()));
  auto database = store::Database::open(folder / "assay.db", store::Access::read_write);
  const auto name = database ? database->add_run(large_run()) : tl::unexpected(database.error());
  if (!name) return 1;
  for (const auto& [title, spec] :
       {std::pair{"default report", ""}, std::pair{"pivot and findings", pivoted}}) {
    benchmark::RegisterBenchmark(title, render, std::string(spec), folder, *name)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::RegisterBenchmark("report of N cases", render_many, folder)
      ->Arg(1000)
      ->Arg(10000)
      ->Arg(100000)
      ->Iterations(3)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  std::filesystem::remove_all(folder);
}
