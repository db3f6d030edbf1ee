// Times what a sample costs in the loop that takes it, around a free stopwatch, and on its way from
// the worker to the database: message, frame, reading on the host, transaction.
//   cmake -DASSAY_MICROBENCH=ON build/release && ninja -C build/release microbench_recording
//   build/release/bin/microbench_recording

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "store/database/database.h"
#include "store/records/intake.h"
#include "timing/sampling.h"
#include "wire/messages.h"

namespace {

using namespace assay;

wire::Measured measured(std::int64_t samples) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> time_s(1.25e-3, 1e-5);
  wire::Measured message;
  message.series.pass = "forward";
  message.series.metric = "time";
  message.series.unit = "s";
  message.series.clock = "cuda_event";
  for (std::int64_t i = 0; i < samples; ++i) message.series.samples.push_back(time_s(random));
  return message;
}

void record(benchmark::State& state, const std::filesystem::path& file) {
  auto database = store::Database::open(file, store::Access::read_write);
  if (!database) return state.SkipWithError(database.error().text().c_str());
  const std::int64_t samples = state.range(0);
  const wire::Measured message = measured(samples);
  const auto run = database->begin_numbered_run({.experiment = "recording"});
  if (!run) return state.SkipWithError(run.error().text().c_str());
  store::CaseResult result;
  for (auto _ : state) {
    const std::string frame = wire::to_json(message).dump();
    auto received = wire::measured_from_json(nlohmann::json::parse(frame));
    if (!received) return state.SkipWithError(received.error().text().c_str());
    result.series = {std::move(received->series)};
    result.key = std::to_string(result.ordinal);
    if (const auto done = database->record_case(*run, result); !done) {
      return state.SkipWithError(done.error().text().c_str());
    }
    ++result.ordinal;
  }
  state.counters["per sample"] = benchmark::Counter(
      static_cast<double>(state.iterations() * samples),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert, benchmark::Counter::kIs1000);
}

// What a program records of one case: `series` parts of `samples` values each, and as many spans in
// 100 lanes.
std::vector<wire::Measured> recorded(std::int64_t series, std::int64_t samples) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> value(1.25e-3, 1e-5);
  std::vector<wire::Measured> messages;
  for (const char* metric : {"kernel_time", "span_start", "span_end"}) {
    for (std::int64_t i = 0; i < series; ++i) {
      wire::Measured& message = messages.emplace_back();
      message.series.pass = "forward";
      message.series.metric = metric;
      message.series.part = "part " + std::to_string(i);
      message.series.lane = metric[0] == 's' ? "lane " + std::to_string(i % 100) : "";
      message.series.unit = "s";
      for (std::int64_t j = 0; j < samples; ++j) message.series.samples.push_back(value(random));
    }
  }
  for (wire::Measured& message : messages) {
    const bool ends = message.series.metric == "span_end";
    for (double& sample : message.series.samples) sample += ends ? 1 : 0;
  }
  return messages;
}

// The host's part: frames to a stored case.
void take_in(benchmark::State& state, const std::filesystem::path& file) {
  auto database = store::Database::open(file, store::Access::read_write);
  if (!database) return state.SkipWithError(database.error().text().c_str());
  std::vector<std::string> frames;
  for (const wire::Measured& message : recorded(state.range(0), state.range(1))) {
    frames.push_back(wire::to_json(message).dump());
  }
  const auto run = database->begin_numbered_run({.experiment = "recording"});
  if (!run) return state.SkipWithError(run.error().text().c_str());
  store::CaseResult result;
  for (auto _ : state) {
    result.series.clear();
    store::SeriesIntake intake;
    for (const std::string& frame : frames) {
      auto received = wire::measured_from_json(nlohmann::json::parse(frame));
      if (!received) return state.SkipWithError(received.error().text().c_str());
      intake.take(std::move(received->series), result.series);
    }
    const auto bad = store::drop_bad_spans(result.series);
    if (!bad.empty()) return state.SkipWithError(bad.front().c_str());
    result.key = std::to_string(result.ordinal);
    if (const auto done = database->record_case(*run, result); !done) {
      return state.SkipWithError(done.error().text().c_str());
    }
    ++result.ordinal;
  }
}

// Its readings spread a little and take no time.
class FreeStopwatch final : public timing::Stopwatch {
 public:
  double warm_up_s() override { return 1e-3; }
  double sample_s(int) override {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return 1e-3 * (1 + 1e-2 * static_cast<double>(state_ >> 40) / (1 << 24));
  }

 private:
  std::uint64_t state_ = 1;
};

// `target`: one that the loop checks and never reaches, or 0 for a fixed number of samples.
void take(benchmark::State& state, double target) {
  const auto samples = static_cast<int>(state.range(0));
  timing::SamplingSettings settings;
  settings.samples = samples;
  settings.target = target;
  settings.max_samples = samples;
  settings.shortest_reading_s = 1e-6;
  FreeStopwatch stopwatch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(timing::take_samples(stopwatch, settings, {}).samples_s.data());
  }
  state.counters["per sample"] = benchmark::Counter(
      static_cast<double>(state.iterations() * samples),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert, benchmark::Counter::kIs1000);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("assay-recording-" + std::to_string(::getpid()));
  benchmark::RegisterBenchmark("record a case of N samples", record, folder / "assay.db")
      ->Arg(10)
      ->Arg(1000)
      ->Arg(100000)
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
  benchmark::RegisterBenchmark("take in a case of 3·N series of M values, two of three spans",
                               take_in, folder / "assay.db")
      ->Args({333, 100})  // 100,000 spans and samples
      ->Args({6666, 50})  // the limits of a case: 20,000 series, 1,000,000 values
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  for (const auto& [name, target] :
       {std::pair{"take N samples", 0.0}, std::pair{"take N samples, watching the median", 1e-9}}) {
    benchmark::RegisterBenchmark(name, take, target)
        ->Arg(10)
        ->Arg(1000)
        ->Arg(100000)
        ->Unit(benchmark::kMicrosecond)
        ->UseRealTime();
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  std::filesystem::remove_all(folder);
}
